import type { Clock } from '../../lib/clock.ts'
import type { Connection } from '../connection/connection.ts'
import { type ClientObserver, noObserver } from './client-observer.ts'
import type { ApiResult } from './failure.ts'
import type { ListStream } from './list-stream.ts'
import { openListPage } from './list-stream.ts'
import type { Query } from './query.ts'
import { createRequester } from './requester.ts'
import { createTransport } from './transport.ts'
import type { WatchOptions, WatchStream } from './watch-stream.ts'
import { openWatch } from './watch-stream.ts'

export interface RequestOptions {
  readonly query?: Query
  /** Aborts the request, which then fails with `NP_CLIENT_ABORTED`. */
  readonly signal?: AbortSignal
}

/** The content types of a patch. */
export type PatchType =
  | 'application/merge-patch+json'
  | 'application/json-patch+json'
  | 'application/strategic-merge-patch+json'

/**
 * A JSON client for one API server. Paths are absolute (`/api/v1/services`). No method rejects: every failure, of the
 * server or the network, is an `ApiFailure`.
 */
export interface ApiClient {
  /** The server's origin, for messages. */
  readonly server: string
  /** One object or document. */
  get(path: string, options?: RequestOptions): Promise<ApiResult<unknown>>
  /** One page of a list, whose items are read while they arrive. */
  list(path: string, options?: RequestOptions): Promise<ApiResult<ListStream>>
  /** An open watch; its lines arrive as the server sends them. */
  watch(path: string, options: WatchOptions): Promise<ApiResult<WatchStream>>
  /** Posts an object to a collection. @returns the object as the server stored it */
  create(path: string, body: unknown, options?: RequestOptions): Promise<ApiResult<unknown>>
  /** Patches an object. @returns the patched object */
  patch(
    path: string,
    body: unknown,
    options: RequestOptions & { readonly type: PatchType },
  ): Promise<ApiResult<unknown>>
  /** Deletes an object; `body` is DeleteOptions. @returns a Status, or the object */
  remove(path: string, body: unknown, options?: RequestOptions): Promise<ApiResult<unknown>>
  /** Closes every connection, including those of watches. */
  close(): Promise<void>
}

export interface ApiClientOptions {
  readonly connection: Connection
  readonly clock: Clock
  /** For example `node-proxy/1.2.3`. */
  readonly userAgent: string
  /**
   * Milliseconds within which a request must be answered completely; of a list its first part, of a watch its head.
   * Default 25,000.
   */
  readonly requestTimeoutMs?: number
  readonly observer?: ClientObserver
}

/** Less than half a minute, the time within which a server that never answers has to be reported. */
const REQUEST_TIMEOUT_MS = 25_000

/** Creates a client. It connects at the first request. */
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
