import type { ApiClient } from '../../client/http/api-client.ts'
import { type ApiResult, failureError } from '../../client/http/failure.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ClusterState, Followed } from './cluster-state.ts'

const DISCOVERY = '/apis/discovery.k8s.io/v1'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

interface Collection {
  readonly root: string
  readonly resource: string
  /** The followed collection that has objects of this kind; absent: they are not followed. */
  readonly followed?: Followed
}

const COLLECTIONS: Readonly<Record<string, Collection>> = {
  Service: { root: '/api/v1', resource: 'services', followed: 'services' },
  Pod: { root: '/api/v1', resource: 'pods', followed: 'pods' },
  EndpointSlice: { root: DISCOVERY, resource: 'endpointslices', followed: 'endpointslices' },
  Role: { root: RBAC, resource: 'roles' },
  RoleBinding: { root: RBAC, resource: 'rolebindings' },
}

/** Writes to the API server, and waits until the followed state shows it. */
export class Writer {
  readonly #client: ApiClient
  readonly #state: ClusterState

  constructor(client: ApiClient, state: ClusterState) {
    this.#client = client
    this.#state = state
  }

  async create(object: JsonObject): Promise<void> {
    const [kind, name] = [stringAt(object, 'kind'), stringAt(object, 'metadata', 'name')]
    const path = pathOf(kind, stringAt(object, 'metadata', 'namespace') || undefined)
    await this.#shown(kind, name, await this.#client.create(path, object))
  }

  /** Merge patch (RFC 7396). */
  async patch(kind: string, name: string, patch: JsonObject): Promise<void> {
    const type = 'application/merge-patch+json'
    const path = `${pathOf(kind)}/${name}`
    await this.#shown(kind, name, await this.#client.patch(path, patch, { type }))
  }

  /** Deletes a pod, if it exists; resolves when it is gone. */
  async removePod(name: string): Promise<void> {
    const result = await this.#client.remove(`${pathOf('Pod')}/${name}`, {})
    if (!result.ok && result.failure.code !== 404) throw failureError(result.failure, `Pod ${name}`)
    const key = `default/${name}`
    await this.#state.until(`${name} is gone`, () => !this.#state.pods.has(key))
  }

  async #shown(kind: string, name: string, result: ApiResult<unknown>): Promise<void> {
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
