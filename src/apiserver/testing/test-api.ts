import { request as httpRequest, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { Json, JsonObject } from '../../lib/json.ts'
import { createMemoryStore, type MemoryStoreOptions } from '../../storage/memory-store.ts'
import type { Store } from '../../storage/store.ts'
import { type ApiServer, type ApiServerOptions, createApiServer } from '../api-server.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
  readonly body: JsonObject
}

export interface WatchEvent {
  readonly type: string
  readonly object: JsonObject
}

export interface WatchClient {
  readonly status: number
  /** The next event; undefined at the end. */
  next(): Promise<WatchEvent | undefined>
  /** The next `count` events. */
  take(count: number): Promise<readonly WatchEvent[]>
  close(): void
}

export interface CallOptions {
  readonly body?: Json | string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

export interface TestApi {
  readonly url: string
  readonly port: number
  readonly store: Store
  readonly server: ApiServer
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** Creates an object and fails when it was refused. */
  make(path: string, object: JsonObject): Promise<JsonObject>
  watch(path: string, headers?: Readonly<Record<string, string>>): Promise<WatchClient>
  close(): Promise<void>
}

export const SERVICES = '/api/v1/namespaces/default/services'
export const ENDPOINTS = '/api/v1/namespaces/default/endpoints'
export const PODS = '/api/v1/namespaces/default/pods'
export const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

/** The least that a pod must say of itself. */
export const POD = { containers: [{ name: 'main', image: 'none' }] }

export function service(
  name: string,
  spec: JsonObject = {},
  metadata: JsonObject = {},
): JsonObject {
  return { metadata: { name, ...metadata }, spec: { ports: [{ port: 80 }], ...spec } }
}

/** POSTs an object to a server that is not a `TestApi`. */
export async function postTo(url: string, object: JsonObject): Promise<JsonObject> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(object) })
  return (await answer.json()) as JsonObject
}

export interface TestOptions extends Omit<ApiServerOptions, 'store'> {
  readonly history?: MemoryStoreOptions
  /** The store as the server sees it, to hold back or interleave what it does. */
  readonly wrap?: (store: Store) => Store
}

/** A server on a free port of the loopback, gone after the test. */
export async function startApi(options: TestOptions = {}): Promise<TestApi> {
  const store = createMemoryStore(options.history)
  const seen = options.wrap?.(store) ?? store
  const errors: unknown[] = []
  const server = createApiServer({
    store: seen,
    onError: (error) => errors.push(error),
    ...options,
  })
  const { url, port } = await server.listen()
  const close = async (): Promise<void> => {
    await server.close()
    await store.close()
    if (errors.length > 0) throw new AggregateError(errors, 'the server reported errors')
  }
  onTestFinished(close)
  const call = (method: string, path: string, given: CallOptions = {}) =>
    exchange(url, method, path, given)
  return {
    url,
    port,
    store,
    server,
    call,
    make: async (path, object) => {
      const answer = await call('POST', path, { body: object })
      if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.text}`)
      return answer.body
    },
    watch: (path, headers = {}) => openWatch(url, path, headers),
    close,
  }
}

async function exchange(
  url: string,
  method: string,
  path: string,
  given: CallOptions,
): Promise<Answer> {
  const { body, headers = {} } = given
  const raw = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const length = String(Buffer.byteLength(raw ?? ''))
    const type =
      raw === undefined ? {} : { 'content-type': 'application/json', 'content-length': length }
    const options = { method, headers: { ...type, ...headers }, agent: false as const }
    const request = httpRequest(`${url}${path}`, options, resolve)
    request.on('error', reject)
    request.end(raw)
  })
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const isJson = response.headers['content-type'] === 'application/json'
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as JsonObject) : {},
  }
}

async function openWatch(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<WatchClient> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, { headers, agent: false }, resolve)
    request.on('error', reject)
    request.end()
  })
  response.on('error', () => undefined)
  const lines = createInterface({ input: response })[Symbol.asyncIterator]()
  const next = async (): Promise<WatchEvent | undefined> => {
    const { done, value } = await lines.next()
    return done === true ? undefined : (JSON.parse(value) as WatchEvent)
  }
  return {
    status: response.statusCode ?? 0,
    next,
    take: async (count) => {
      const events: WatchEvent[] = []
      while (events.length < count) {
        const event = await next()
        if (event === undefined)
          throw new Error(`the watch ended after ${events.length} of ${count} events`)
        events.push(event)
      }
      return events
    },
    close: () => response.destroy(),
  }
}
