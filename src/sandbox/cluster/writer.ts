import type { ApiClient } from '../../client/http/api-client.ts'
import { type ApiResult, failureError } from '../../client/http/failure.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ClusterState, Followed } from './cluster-state.ts'

const DISCOVERY = '/apis/discovery.k8s.io/v1'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** The collection that a kind is written to. */
interface Collection {
  /** The path before `/namespaces/…`. */
  readonly root: string
  /** The plural name. */
  readonly resource: string
  /** Its name in `ClusterState.seen`; absent: `ClusterState` does not follow this collection. */
  readonly followed?: Followed
}

const COLLECTIONS: Readonly<Record<string, Collection>> = {
  Service: { root: '/api/v1', resource: 'services', followed: 'services' },
  Pod: { root: '/api/v1', resource: 'pods', followed: 'pods' },
  EndpointSlice: { root: DISCOVERY, resource: 'endpointslices', followed: 'endpointslices' },
  Deployment: { root: '/apis/apps/v1', resource: 'deployments', followed: 'deployments' },
  NetworkPolicy: { root: '/apis/networking.k8s.io/v1', resource: 'networkpolicies' },
  Role: { root: RBAC, resource: 'roles' },
  RoleBinding: { root: RBAC, resource: 'rolebindings' },
}

/**
 * Writes objects to the API server. Each method resolves when `ClusterState` has received the change, or at once for a
 * kind that it does not follow. It rejects with the error of a failed request, with NP_SANDBOX_CLUSTER if the change
 * does not arrive in time, and with a TypeError for a kind that is not in `COLLECTIONS`.
 */
export class Writer {
  readonly #client: ApiClient
  readonly #state: ClusterState

  constructor(client: ApiClient, state: ClusterState) {
    this.#client = client
    this.#state = state
  }

  /** Creates an object, in namespace `default` if its metadata has none. */
  async create(object: JsonObject): Promise<void> {
    const [kind, name] = [stringAt(object, 'kind'), stringAt(object, 'metadata', 'name')]
    const path = pathOf(kind, stringAt(object, 'metadata', 'namespace') || undefined)
    await this.#waitUntilShown(kind, name, await this.#client.create(path, object))
  }

  /** Changes an object of namespace `default` by a merge patch (RFC 7396). */
  async patch(kind: string, name: string, patch: JsonObject): Promise<void> {
    const type = 'application/merge-patch+json'
    const path = `${pathOf(kind)}/${name}`
    await this.#waitUntilShown(kind, name, await this.#client.patch(path, patch, { type }))
  }

  /** Deletes a Pod of namespace `default`, if it exists. Resolves when `ClusterState` no longer has it. */
  async removePod(name: string): Promise<void> {
    const result = await this.#client.remove(`${pathOf('Pod')}/${name}`, {})
    if (!result.ok && result.failure.code !== 404) throw failureError(result.failure, `Pod ${name}`)
    const key = `default/${name}`
    await this.#state.until(`${name} is gone`, () => !this.#state.pods.has(key))
  }

  /** Waits until `ClusterState` has the version of the object that `result` contains. */
  async #waitUntilShown(kind: string, name: string, result: ApiResult<unknown>): Promise<void> {
    if (!result.ok) throw failureError(result.failure, `${kind} ${name}`)
    const version = Number(stringAt(result.value as JsonObject, 'metadata', 'resourceVersion'))
    const { followed } = collectionOf(kind)
    if (followed === undefined) return
    await this.#state.until(
      `${kind} ${name} is shown`,
      () => (this.#state.seen.get(followed) ?? 0) >= version,
    )
  }
}

function pathOf(kind: string, namespace = 'default'): string {
  const { root, resource } = collectionOf(kind)
  return `${root}/namespaces/${namespace}/${resource}`
}

function collectionOf(kind: string): Collection {
  const found = COLLECTIONS[kind]
  if (found === undefined) throw new TypeError(`the sandbox does not write ${JSON.stringify(kind)}`)
  return found
}
