import { setTimeout as delay } from 'node:timers/promises'
import { createDeadline } from '../../client/http/deadline.ts'
import { type ApiFailure, localFailure } from '../../client/http/failure.ts'
import { networkFailure, timeoutFailure } from '../../client/http/network-failure.ts'
import { type Query, queryText } from '../../client/http/query.ts'
import type { HttpResponse, Transport } from '../../client/http/transport.ts'
import type { Clock } from '../../lib/clock.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../lib/json.ts'
import { type CallFailure, failureError, refused, unanswered } from './call-failure.ts'

/** One request. */
export interface Call {
  /** GET unless given. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute; with an encoded query only if there is no `query`. */
  readonly path: string
  readonly query?: Query
  /** Sent as JSON. */
  readonly body?: Json
  /** The type of the body; `application/json` unless given. */
  readonly contentType?: string
  /** The header Accept; `application/json` unless given. */
  readonly accept?: string
  readonly signal?: AbortSignal
}

/** A 2xx answer. */
export interface CallAnswer {
  readonly status: number
  readonly body: JsonObject
}

export type CallResult =
  | { readonly ok: true; readonly value: CallAnswer }
  | { readonly ok: false; readonly failure: CallFailure }

/** A 2xx answer whose body arrives while the caller reads it. */
export type OpenResult =
  | { readonly ok: true; readonly body: AsyncIterable<Uint8Array> }
  | { readonly ok: false; readonly failure: CallFailure }

/** A 2xx answer as text, whatever it is. */
export type TextResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly failure: CallFailure }

/** Requests to the API server; warnings of the server are shown. */
export interface Api {
  /** The address of the server, for messages. */
  readonly server: string
  /** The answer, or why there is none. */
  request(call: Call): Promise<CallResult>
  /** The body of a 2xx answer. @throws NodeProxyError with the code of the failure */
  send(call: Call): Promise<JsonObject>
  /** A 2xx answer as text, or why there is none. */
  requestText(call: Call): Promise<TextResult>
  /** The same. @throws NodeProxyError */
  text(call: Call): Promise<string>
  /** An answer whose body may arrive without end, such as a watch or a followed log: it has no deadline. */
  open(call: Call): Promise<OpenResult>
}

export interface ApiOptions {
  readonly transport: Transport
  readonly server: string
  /** Milliseconds for each request. */
  readonly timeoutMs: number
  /** `-v`: from 6 each request is shown, from 8 the bodies of answers, too. */
  readonly verbosity: number
  readonly notice: (line: string) => void
  readonly clock: Clock
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
}

/** How often a request is sent again after 429; a server that answers so has done nothing yet. */
const MAX_RETRIES = 3
const BODY_LIMIT = 256 * 1024 * 1024
const SHOWN_BODY = 10_000

interface Answered {
  readonly ok: true
  readonly value: HttpResponse
  /** Ends the deadline of the request. */
  readonly done: () => void
}

interface Failed {
  readonly ok: false
  readonly failure: CallFailure
}

/** Creates the requests of a session. */
export function createApi(options: ApiOptions): Api {
  return new HttpApi(options)
}

/** Requests a review of permissions (`authorization.k8s.io/v1`). @returns the review with its status */
export function reviewAccess(
  api: Api,
  kind: 'SelfSubjectAccessReview' | 'SelfSubjectRulesReview' | 'SubjectAccessReview',
  spec: JsonObject,
): Promise<JsonObject> {
  const apiVersion = 'authorization.k8s.io/v1'
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`
  return api.send({ method: 'POST', path, body: { apiVersion, kind, spec } })
}

class HttpApi implements Api {
  readonly server: string
  readonly #options: ApiOptions
  readonly #warned = new Set<string>()

  constructor(options: ApiOptions) {
    this.server = options.server
    this.#options = options
  }

  async request(call: Call): Promise<CallResult> {
    const opened = await this.#answer(call)
    if (!opened.ok) return opened
    const read = await this.#content(opened)
    if (!read.ok) return read
    const body = parseJson(read.text)
    if (isJsonObject(body)) return { ok: true, value: { status: opened.value.status, body } }
    const message = `${this.server} is not an API server: its answer is not a JSON object`
    return failed(localFailure('NP_CLIENT_GARBAGE', 'Garbage', message))
  }

  async send(call: Call): Promise<JsonObject> {
    const result = await this.request(call)
    if (!result.ok) throw failureError(result.failure)
    return result.value.body
  }

  async requestText(call: Call): Promise<TextResult> {
    const opened = await this.#answer(call)
    return opened.ok ? this.#content(opened) : opened
  }

  async text(call: Call): Promise<string> {
    const read = await this.requestText(call)
    if (!read.ok) throw failureError(read.failure)
    return read.text
  }

  async open(call: Call): Promise<OpenResult> {
    const opened = await this.#answer(call)
    if (!opened.ok) return opened
    // The deadline was only for the head of the answer; the signal of the caller can still close the connection.
    opened.done()
    call.signal?.addEventListener('abort', () => opened.value.body.destroy(), { once: true })
    return { ok: true, body: opened.value.body as AsyncIterable<Uint8Array> }
  }

  /** A 2xx answer; after 429 the request is sent again. */
  async #answer(call: Call): Promise<Answered | Failed> {
    for (let retry = 0; ; retry++) {
      const opened = await this.#attempt(call)
      if (!opened.ok || isDone(opened.value.status)) return opened
      const { status, headers } = opened.value
      const body = await this.#content(opened)
      const seconds = Number(headers['retry-after'] ?? '1')
      if (status !== 429 || retry >= MAX_RETRIES || !(seconds <= 10)) {
        return { ok: false, failure: refused(status, body.ok ? parseJson(body.text) : undefined) }
      }
      await delay(seconds * 1_000)
    }
  }

  async #attempt(call: Call): Promise<Answered | Failed> {
    const { clock, timeoutMs, transport, notice } = this.#options
    const deadline = createDeadline(clock, timeoutMs, call.signal)
    const startedAt = clock.now()
    const sent = await transport.send(transportRequest(call, this.#options, deadline.signal))
    this.#trace(call, sent.ok ? String(sent.value.status) : sent.failure.reason, startedAt)
    if (sent.ok) {
      for (const warning of warningsOf(sent.value, this.#warned)) notice(`Warning: ${warning}`)
      return { ok: true, value: sent.value, done: () => deadline.clear() }
    }
    const isLate = deadline.expired()
    deadline.clear()
    return failed(isLate ? timeoutFailure(this.server, timeoutMs) : sent.failure)
  }

  #trace({ method = 'GET', path, query = {} }: Call, status: string, startedAt: number): void {
    const { verbosity, notice, clock } = this.#options
    if (verbosity < 6) return
    const ms = Math.round(clock.now() - startedAt)
    notice(`${method} ${this.server}${path}${queryText(query)} ${status} in ${ms} ms`)
  }

  async #content({ value, done }: Answered): Promise<TextResult> {
    try {
      const text = await readText(value.body as AsyncIterable<Uint8Array>, BODY_LIMIT)
      const message = `${this.server} answered more than ${BODY_LIMIT} bytes`
      if (text === undefined)
        return failed(localFailure('NP_CLIENT_TOO_LARGE', 'TooLarge', message))
      if (this.#options.verbosity >= 8) this.#options.notice(text.slice(0, SHOWN_BODY))
      return { ok: true, text }
    } catch (error) {
      return failed(networkFailure(error, this.server))
    } finally {
      done()
    }
  }
}

function failed(failure: ApiFailure): Failed {
  return { ok: false, failure: unanswered(failure) }
}

function transportRequest(call: Call, { headers }: ApiOptions, signal: AbortSignal) {
  const { method = 'GET', path, query = {}, body, contentType = 'application/json', accept } = call
  return {
    method,
    signal,
    path: path + queryText(query),
    headers: { ...headers, ...(accept === undefined ? {} : { accept }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body), contentType }),
  }
}

function isDone(status: number): boolean {
  return status >= 200 && status < 300
}

/** The texts of `Warning` headers (RFC 9111 5.5) that were not shown before. */
function warningsOf({ headers }: HttpResponse, warned: Set<string>): readonly string[] {
  const value = headers['warning']
  const text = Array.isArray(value) ? value.join(', ') : (value ?? '')
  const found = [...text.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)]
  const fresh = found.map((match) => (match[1] ?? '').replaceAll(/\\(.)/g, '$1'))
  return fresh.filter((one) => !warned.has(one) && warned.add(one))
}

/** The body as text; undefined when it is longer than `limit` bytes. */
async function readText(
  body: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > limit) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
