import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { ApiClient } from '../../client/http/api-client.ts'
import { type ApiFailure, causeOf } from '../../client/http/failure.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { subjectOfPeer } from '../../lib/tls/peer-subject.ts'

/** `unavailable`: the API server did not answer, or refuses node-proxy itself; why. */
export type Reviewed<T> = { readonly answer: T } | { readonly unavailable: string }

/** What the API server says of a caller. */
export interface Reviews {
  /** Whose token it is; undefined: the token is not valid. */
  token(token: string): Promise<Reviewed<Caller | undefined>>
  /** Whether the caller may do what readers of this node may. */
  access(caller: Caller): Promise<Reviewed<boolean>>
}

type Poster = Pick<ApiClient, 'create'>

/** Reviews by the API server that node-proxy watches, for readers of one node. */
export function apiReviews(client: Poster, nodeName: string): Reviews {
  return {
    async token(token) {
      const spec = { token }
      const status = await post(client, { group: 'authentication', kind: 'TokenReview', spec })
      if ('unavailable' in status) return status
      return { answer: callerOf(status.answer) }
    },
    async access({ username, uid, groups, extra }) {
      const spec = {
        user: username,
        uid,
        groups,
        extra,
        resourceAttributes: attributesOf(nodeName),
      }
      const status = await post(client, {
        group: 'authorization',
        kind: 'SubjectAccessReview',
        spec,
      })
      if ('unavailable' in status) return status
      return { answer: status.answer['allowed'] === true && status.answer['denied'] !== true }
    },
  }
}

/** The permission that kubelets require from readers of a node's own pages. */
export function attributesOf(nodeName: string) {
  const resource = { group: '', version: 'v1', resource: 'nodes', subresource: 'proxy' }
  return { verb: 'get', ...resource, name: nodeName }
}

interface Review {
  readonly group: 'authentication' | 'authorization'
  readonly kind: 'TokenReview' | 'SubjectAccessReview'
  readonly spec: unknown
}

/** The status of a review. A failure never contains what was sent, which may be a token. */
async function post(client: Poster, { group, kind, spec }: Review): Promise<Reviewed<JsonObject>> {
  const apiVersion = `${group}.k8s.io/v1`
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`
  const result = await client.create(path, { apiVersion, kind, spec })
  if (!result.ok) return { unavailable: reasonOf(kind, result.failure) }
  const status = isJsonObject(result.value) ? result.value['status'] : undefined
  if (isJsonObject(status)) return { answer: status }
  return { unavailable: `the API server answered a ${kind} without a status` }
}

function reasonOf(kind: string, failure: ApiFailure): string {
  const why = `a ${kind} failed: ${causeOf(failure)}`
  return failure.code === 403 ? `${why}; bind system:auth-delegator to node-proxy` : why
}

function callerOf({ authenticated, user, error }: JsonObject): Caller | undefined {
  if (authenticated !== true || !isJsonObject(user) || (error ?? '') !== '') return undefined
  const { username, uid, groups, extra } = user
  if (typeof username !== 'string' || username === '') return undefined
  return {
    username,
    uid: typeof uid === 'string' ? uid : '',
    groups: textsOf(groups),
    extra: isJsonObject(extra)
      ? Object.fromEntries(Object.entries(extra).map(([name, value]) => [name, textsOf(value)]))
      : {},
  }
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** Who sends a request, with the fields of TokenReview and SubjectAccessReview. */
export interface Caller {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** What a request proves its sender with; undefined: it has no credentials. */
export type Credentials = { readonly caller: Caller } | { readonly token: string } | undefined

/** RFC 6750; the name of the scheme is written in any case. */
const BEARER = /^bearer +([\x21-\x7e]+)$/i

/**
 * A client certificate that an authority of this listener signed names the user and its groups; otherwise the bearer
 * token counts. `now`: milliseconds since 1970.
 */
export function credentialsOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  now: number,
): Credentials {
  const subject = socket instanceof TLSSocket ? subjectOfPeer(socket, now) : undefined
  const [username = '', ...others] = subject?.commonNames ?? []
  if (username !== '' && others.length === 0) {
    const groups = [...new Set([...(subject?.organizations ?? []), 'system:authenticated'])]
    return { caller: { username, uid: '', groups, extra: {} } }
  }
  const token = BEARER.exec(headers.authorization ?? '')?.[1]
  return token === undefined ? undefined : { token }
}
