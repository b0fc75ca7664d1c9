import { type Clock, sleep } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { Api, Call, CallResult } from '../session/api.ts'
import { type CallFailure, failureError } from '../session/call-failure.ts'
import { NAMESPACE } from './placement.ts'
import type { StartProbe } from './probe.ts'

export type UsedApi = Pick<Api, 'request' | 'requestText'>

/** What a move uses outside of itself. */
export interface MoveEnvironment {
  readonly api: UsedApi
  readonly clock: Clock
  /** A line of progress. */
  readonly notice: (line: string) => void
  /** Aborted when the user interrupts the program. */
  readonly signal: AbortSignal
  /** Why the node-proxy of a node says that it is not ready; undefined: no request was sent, or no answer came. */
  readonly status?: (node: JsonObject) => Promise<readonly string[] | undefined>
  /** Connects to a node while it moves; undefined: nothing does. */
  readonly startProbe?: StartProbe
  /** Milliseconds between two reads of what is awaited. */
  readonly pollMs: number
  /** Milliseconds for what a move waits for. */
  readonly timeoutMs: number
}

/**
 * Requests that are repeated while the server is away. An object that exists already, or that is gone already, is no
 * error.
 */
export interface Requests {
  /** Undefined: there is none. */
  get(path: string): Promise<JsonObject | undefined>
  /** All objects of a collection, page by page. */
  list(path: string, query?: Readonly<Record<string, string>>): Promise<readonly JsonObject[]>
  create(object: JsonObject): Promise<void>
  /** A merge patch. An object that has changed meanwhile, or is gone, stays as it is. */
  patch(path: string, body: JsonObject): Promise<void>
  remove(path: string): Promise<void>
}

const COLLECTIONS: Readonly<Record<string, string>> = {
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  ConfigMap: `/api/v1/namespaces/${NAMESPACE}/configmaps`,
  DaemonSet: `/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets`,
  Node: '/api/v1/nodes',
  Pod: `/api/v1/namespaces/${NAMESPACE}/pods`,
  ServiceAccount: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`,
}

const PAGE_SIZE = '500'

/** @throws NP_ORCHCTL_USAGE for kinds that the manifests of node-proxy do not contain */
export function collectionPath(kind: string): string {
  const path = Object.hasOwn(COLLECTIONS, kind) ? COLLECTIONS[kind] : undefined
  if (path !== undefined) return path
  throw new NodeProxyError(
    'NP_ORCHCTL_USAGE',
    `the manifests hold an object of kind ${quote(kind)}`,
    {
      hint: `give --manifests with the objects of node-proxy alone: ${Object.keys(COLLECTIONS).join(', ')}`,
    },
  )
}

/** The path of an object of node-proxy, of a node or a Pod. */
export function pathOf(kind: string, name: string): string {
  return `${collectionPath(kind)}/${encodeURIComponent(name)}`
}

export function pathOfObject(object: JsonObject): string {
  return pathOf(stringAt(object, 'kind'), stringAt(object, 'metadata', 'name'))
}

export function createRequests(environment: MoveEnvironment): Requests {
  const send = (call: Call): Promise<CallResult> => sendAgain(call, environment)
  const unless = async (call: Call, ...codes: readonly number[]): Promise<void> => {
    const result = await send(call)
    if (!result.ok && !codes.includes(result.failure.code)) throw failureError(result.failure)
  }
  return {
    async get(path) {
      const result = await send({ path })
      if (result.ok) return result.value.body
      if (result.failure.code === 404) return undefined
      throw failureError(result.failure)
    },
    list: (path, query = {}) => listAll(send, path, query),
    create: (body) => {
      const path = collectionPath(stringAt(body, 'kind'))
      return unless({ method: 'POST', path, body }, 409)
    },
    patch: (path, body) => {
      const contentType = 'application/merge-patch+json'
      return unless({ method: 'PATCH', path, body, contentType }, 404, 409)
    },
    remove: (path) => unless({ method: 'DELETE', path }, 404),
  }
}

/** A list that has expired between two pages is read again. */
async function listAll(
  send: (call: Call) => Promise<CallResult>,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = []
  let next = ''
  let limit: Readonly<Record<string, string>> = { limit: PAGE_SIZE }
  for (;;) {
    const from: Readonly<Record<string, string>> = next === '' ? {} : { continue: next }
    const result = await send({ path, query: { ...query, ...limit, ...from } })
    if (!result.ok) {
      if (result.failure.code !== 410 || next === '') throw failureError(result.failure)
      found.length = 0
      next = ''
      limit = {}
      continue
    }
    const { items } = result.value.body
    for (const item of Array.isArray(items) ? items : []) found.push(item as JsonObject)
    next = stringAt(result.value.body, 'metadata', 'continue')
    if (next === '') return found
  }
}

/** Repeats a request while the server is away or overloaded, for as long as a move waits for anything else. */
export async function sendAgain(call: Call, environment: MoveEnvironment): Promise<CallResult> {
  const { api, clock, notice, signal, pollMs, timeoutMs } = environment
  const until = clock.now() + timeoutMs
  for (let isFirst = true; ; isFirst = false) {
    const result = await api.request({ ...call, signal })
    if (result.ok || !isPassing(result.failure) || clock.now() >= until) return result
    if (signal.aborted) return result
    if (isFirst) notice(`the API server does not answer, trying again: ${result.failure.message}`)
    await sleep(clock, pollMs, signal)
  }
}

function isPassing({ code }: CallFailure): boolean {
  return code === 0 || code === 429 || code >= 500
}
