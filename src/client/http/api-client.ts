import type { Clock } from '../../lib/clock.ts'
import type { Connection } from '../connection/connection.ts'
import { type ClientObserver, noObserver } from './client-observer.ts'
import type { ApiResult } from './failure/failure.ts'
import type { ListStream } from './list-stream.ts'
import { openListPage } from './list-stream.ts'
import type { Query } from './query.ts'
import { createRequester } from './requester.ts'
import { createTransport } from './transport.ts'
import type { WatchOptions, WatchStream } from './watch-stream.ts'
import { openWatch } from './watch-stream.ts'

export interface RequestOptions {
  readonly query?: Query
  readonly signal?: AbortSignal
}

export type PatchType =
  | 'application/merge-patch+json'
  | 'application/json-patch+json'
  | 'application/strategic-merge-patch+json'

/**
 * Talks to one API server in JSON. Paths are absolute (`/api/v1/services`).
 * Nothing here rejects: refusals, silence and garbage are `ApiFailure` values.
 */
export interface ApiClient {
  /** The server's origin, for messages. */
  readonly server: string
  get(path: string, options?: RequestOptions): Promise<ApiResult<unknown>>
  /** One page of a list; its items come one by one while they arrive. */
  list(path: string, options?: RequestOptions): Promise<ApiResult<ListStream>>
  /** An open watch; its lines arrive as the server sends them. */
  watch(path: string, options: WatchOptions): Promise<ApiResult<WatchStream>>
  create(path: string, body: unknown, options?: RequestOptions): Promise<ApiResult<unknown>>
  patch(
    path: string,
    body: unknown,
    options: RequestOptions & { readonly type: PatchType },
  ): Promise<ApiResult<unknown>>
  /** `body`: DeleteOptions. */
  remove(path: string, body: unknown, options?: RequestOptions): Promise<ApiResult<unknown>>
  /** Drops every connection. */
  close(): Promise<void>
}

export interface ApiClientOptions {
  readonly connection: Connection
  readonly clock: Clock
  /** `node-proxy/1.2.3`. */
  readonly userAgent: string
  /** Milliseconds until a request must be answered completely; watches have their own. */
  readonly requestTimeoutMs?: number
  readonly observer?: ClientObserver
}

/** A server that never answers is reported in half a minute, whatever was attempted before. */
const REQUEST_TIMEOUT_MS = 25_000

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { connection, clock, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options
  const transport = createTransport({ ...options, observer: options.observer ?? noObserver })
  const requester = createRequester({
    transport,
    clock,
    server: connection.origin,
    timeoutMs: requestTimeoutMs,
  })
  return {
    server: connection.origin,
    get: (path, request = {}) => requester.json({ method: 'GET', path, ...request }),
    list: (path, request = {}) => openListPage(requester, { method: 'GET', path, ...request }),
    watch: (path, watch) => openWatch(requester, path, watch),
    create: (path, body, request = {}) =>
      requester.json({ method: 'POST', path, body, contentType: 'application/json', ...request }),
    remove: (path, body, request = {}) =>
      requester.json({ method: 'DELETE', path, body, contentType: 'application/json', ...request }),
    patch: (path, body, { type, ...request }) =>
      requester.json({ method: 'PATCH', path, body, contentType: type, ...request }),
    close: () => transport.close(),
  }
}
