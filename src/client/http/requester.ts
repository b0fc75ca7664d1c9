import type { Clock } from '../../lib/clock.ts'
import { parseJson } from '../../lib/json.ts'
import type { Deadline } from './deadline.ts'
import { createDeadline } from './deadline.ts'
import type { ApiFailure, ApiResult } from './failure.ts'
import { localFailure, statusFailure } from './failure.ts'
import { joinedText } from './line-splitter.ts'
import { networkFailure, timeoutFailure } from './network-failure.ts'
import type { Query } from './query.ts'
import { queryText } from './query.ts'
import type { HttpResponse, Transport } from './transport.ts'

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Absolute path without a query. */
  readonly path: string
  readonly query?: Query
  /** Sent as JSON. */
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal
}

/** A 2xx response with an unread body; the reader calls `deadline.clear()` at the end. */
export interface OpenResponse {
  readonly body: HttpResponse['body']
  readonly deadline: Deadline
}

/** Sends requests; every failure is a value. */
export interface Requester {
  /** The body as parsed JSON, at most 8 MiB. */
  json(request: ApiRequest): Promise<ApiResult<unknown>>
  /** The body of a 2xx response as a stream. */
  open(request: ApiRequest): Promise<ApiResult<OpenResponse>>
  /** The failure for an error that was thrown while reading the body of `answer`. */
  broken(error: unknown, answer: OpenResponse): ApiFailure
}

export interface RequesterOptions {
  readonly transport: Transport
  readonly clock: Clock
  /** Origin of the server, for messages. */
  readonly server: string
  /** Milliseconds from the beginning of a request to the end of its response. */
  readonly timeoutMs: number
}

const OBJECT_LIMIT = 8 * 1024 * 1024
const STATUS_LIMIT = 64 * 1024

/** Creates a requester: each request has a deadline, and each body a limit. */
export function createRequester(options: RequesterOptions): Requester {
  const { transport, clock, server, timeoutMs } = options

  function broken(error: unknown, { deadline }: { readonly deadline: Deadline }): ApiFailure {
    return deadline.expired() ? timeoutFailure(server, deadline.ms) : networkFailure(error, server)
  }

  async function open(request: ApiRequest): Promise<ApiResult<OpenResponse>> {
    const deadline = createDeadline(clock, timeoutMs, request.signal)
    const sent = await transport.send({
      method: request.method,
      path: request.path + queryText(request.query ?? {}),
      signal: deadline.signal,
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      ...(request.contentType === undefined ? {} : { contentType: request.contentType }),
    })
    if (sent.ok && isUsable(sent.value)) {
      return { ok: true, value: { body: sent.value.body, deadline } }
    }
    const failure = sent.ok ? await refusal(sent.value, server) : sent.failure
    const late = failure.errorCode === 'NP_CLIENT_ABORTED' && deadline.expired()
    deadline.clear()
    return { ok: false, failure: late ? timeoutFailure(server, timeoutMs) : await explain(failure) }
  }

  /** Adds why the client certificate is not valid now, if it is not, because servers do not report this. */
  async function explain(failure: ApiFailure): Promise<ApiFailure> {
    if (failure.code !== 401 && failure.errorCode !== 'NP_CLIENT_TLS') return failure
    const fault = await transport.certificateFault()
    return fault === undefined ? failure : { ...failure, message: `${failure.message}; ${fault}` }
  }

  async function json(request: ApiRequest): Promise<ApiResult<unknown>> {
    const opened = await open(request)
    if (!opened.ok) return opened
    try {
      const text = await readText(opened.value.body, OBJECT_LIMIT)
      const value = text === undefined ? undefined : parseJson(text)
      if (value !== undefined) return { ok: true, value }
      return { ok: false, failure: text === undefined ? tooLarge(server) : garbage(server) }
    } catch (error) {
      return { ok: false, failure: broken(error, opened.value) }
    } finally {
      opened.value.deadline.clear()
    }
  }

  return { json, open, broken }
}

/** Whether the response is 2xx and not an HTML page, as proxies and login pages send. */
function isUsable({ status, headers }: HttpResponse): boolean {
  return status >= 200 && status < 300 && !isWebPage(headers)
}

function isWebPage(headers: HttpResponse['headers']): boolean {
  return headers['content-type']?.startsWith('text/html') === true
}

async function refusal(
  { status, headers, body }: HttpResponse,
  server: string,
): Promise<ApiFailure> {
  if (status >= 200 && status < 300) {
    await body.dump({ limit: STATUS_LIMIT }).catch(() => undefined)
    const message = `${server} is not an API server: it answered ${status} with a web page`
    return localFailure('NP_CLIENT_GARBAGE', 'Garbage', message)
  }
  if (status >= 300 && status < 400) {
    await body.dump({ limit: STATUS_LIMIT }).catch(() => undefined)
    const target = URL.parse(headers.location ?? '', server)?.origin ?? 'nowhere'
    const message = `${server} redirects to ${target}; redirects are never followed`
    return { ...localFailure('NP_CLIENT_REDIRECT', 'Redirect', message), code: status }
  }
  const text = await readText(body, STATUS_LIMIT).catch(() => undefined)
  const failure = statusFailure(status, parseJson(text ?? ''))
  const seconds = Number(headers['retry-after'])
  if (!(seconds > 0)) return failure
  return { ...failure, retryAfterMs: Math.min(seconds, 60) * 1000 }
}

/** The body as text, or undefined if it is longer than `limit` bytes. */
async function readText(body: HttpResponse['body'], limit: number): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > limit) return undefined
    parts.push(part)
  }
  return joinedText(parts)
}

function garbage(server: string): ApiFailure {
  return localFailure(
    'NP_CLIENT_GARBAGE',
    'Garbage',
    `${server} is not an API server: its answer is not JSON`,
  )
}

function tooLarge(server: string): ApiFailure {
  const message = `${server} answered more than ${OBJECT_LIMIT} bytes`
  return localFailure('NP_CLIENT_TOO_LARGE', 'TooLarge', message)
}
