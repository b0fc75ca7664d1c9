import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { User } from '../../auth/user.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { JSON_TYPE } from '../encoding/media-type.ts'
import type { ServedVersion } from '../resource/resource.ts'
import { invalid, type StatusCause, type StatusError, type Subject } from '../status/status.ts'
import type { RequestDeadline } from './request-deadline.ts'

/** The two ends of one HTTP exchange. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Present: the client requests another protocol, and the connection can be taken over. */
  readonly upgrade?: Upgrade | undefined
}

/**
 * Answers a request for a file outside of the API. Such requests need no credentials, take no concurrency slot,
 * and are not audited.
 * @returns false: the request is for something else and was not answered
 */
export type FileHandler = (exchange: Pick<Exchange, 'request' | 'response'>) => boolean

/** A connection whose client has requested another protocol. */
export interface Upgrade {
  readonly socket: Socket
  /** The bytes that the client has already sent. */
  readonly head: Buffer
}

/**
 * Does work that waits for what other requests do, without keeping the concurrency slot of this request from them.
 * Resolves to 429 if the request may not go on.
 */
export type WaitForOthers = (work: () => Promise<void>) => Promise<StatusError | undefined>

/** For a request that has no concurrency slot. */
export const waitWithoutSlot: WaitForOthers = async (work) => {
  await work()
  return undefined
}

/** One request for a resource, as parsed by the router. */
export interface ApiRequest {
  readonly method: string
  /** The user that the request acts as. */
  readonly user: User
  readonly served: ServedVersion
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string
  /** Empty: the collection. */
  readonly name: string
  /** The subresource, such as `status`; empty: the object itself. */
  readonly subresource: string
  readonly query: URLSearchParams
  /** The Accept header. */
  readonly accept: string
  /** The Content-Type header; empty when absent. */
  readonly contentType: string
  /** The User-Agent header; empty when absent. */
  readonly userAgent: string
  /** The bytes of the body; empty: none. */
  readonly body: Buffer
  /** The deadline until which a write waits and is retried. */
  readonly deadline: RequestDeadline
  readonly waitForOthers: WaitForOthers
  /** Adds a warning to the answer, which clients show to their users. */
  warn(text: string): void
}

/** A request that may be answered by a stream, as watches are. */
export interface StreamRequest extends ApiRequest {
  readonly response: ServerResponse
  readonly headers: IncomingHttpHeaders
  /** Present: the client requests another protocol. */
  readonly upgrade: Upgrade | undefined
  /** The target that the request is forwarded to; undefined: it is answered here. */
  readonly forwarded: ForwardedTarget | undefined
  /** The query as it was sent, without the question mark. */
  readonly search: string
}

/** A response with a body of known length or a list of chunks. */
export interface Reply {
  readonly code: number
  readonly contentType: string
  /** The chunks of the body in order; those of a long list are generated while it is sent. */
  readonly body: Iterable<Buffer>
}

/** The result of a handler that has already begun to answer by a stream. */
export const STREAMING = 'streaming'

/** The result of a handler. */
export type HandlerResult = Reply | StatusError | typeof STREAMING

/** The object of a request, for errors. */
export function subjectOf(request: ApiRequest, name: string = request.name): Subject {
  return { plural: request.served.resource.plural, group: request.served.group, name }
}

/** A reply of JSON bytes. */
export function jsonReply(code: number, body: Buffer): Reply {
  return { code, contentType: JSON_TYPE, body: [body] }
}

/**
 * The target of a forwarded request, in addition to the object that its path names. All texts are as the client
 * sent them, decoded.
 */
export interface ForwardedTarget {
  /** Empty: the default one. */
  readonly scheme: string
  /** Empty: the default one. */
  readonly port: string
  /** Without a slash at its beginning; empty: none. */
  readonly path: string
}

/** `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`, as the Kubernetes API has it; anything else is a name that no object has. */
export function splitTarget(
  segment: string,
): Omit<ForwardedTarget, 'path'> & { readonly name: string } {
  const parts = segment.split(':')
  const [first = '', second = '', third = ''] = parts
  if (parts.length === 2) return { scheme: '', name: first, port: second }
  if (parts.length === 3) return { scheme: first, name: second, port: third }
  return { scheme: '', name: segment, port: '' }
}

/** 422 for the object of a request, with the name from the object, because the path of a create has none. */
export function invalidObject(
  request: ApiRequest,
  object: JsonObject,
  causes: readonly StatusCause[],
): StatusError {
  const name = stringAt(objectAt(object, 'metadata'), 'name')
  return invalid(request.served.resource.kind, subjectOf(request, name), causes)
}
