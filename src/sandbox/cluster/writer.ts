import type { ApiClient } from '../../client/http/api-client.ts'
import { type ApiResult, failureError } from '../../client/http/failure/failure.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ClusterState, Followed } from './cluster-state.ts'

const COLLECTIONS: Readonly<Record<string, { readonly path: string; readonly name: Followed }>> = {
  Service: { path: '/api/v1/namespaces/default/services', name: 'services' },
  Pod: { path: '/api/v1/namespaces/default/pods', name: 'pods' },
  EndpointSlice: {
    path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    name: 'endpointslices',
  },
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
    await this.#shown(kind, name, await this.#client.create(collectionOf(kind).path, object))
  }

  /** Merge patch (RFC 7396). */
  async patch(kind: string, name: string, patch: JsonObject): Promise<void> {
    const type = 'application/merge-patch+json'
    const path = `${collectionOf(kind).path}/${name}`
    await this.#shown(kind, name, await this.#client.patch(path, patch, { type }))
  }

  /** Resolves when the pod is gone; what is gone already is fine. */
  async removePod(name: string): Promise<void> {
    const result = await this.#client.remove(`${collectionOf('Pod').path}/${name}`, {})
    if (!result.ok && result.failure.code !== 404) throw failureError(result.failure, `Pod ${name}`)
    const key = `default/${name}`
    await this.#state.until(`${name} is gone`, () => !this.#state.pods.has(key))
  }

  async #shown(kind: string, name: string, result: ApiResult<unknown>): Promise<void> {
    if (!result.ok) throw failureError(result.failure, `${kind} ${name}`)
    const version = Number(stringAt(result.value as JsonObject, 'metadata', 'resourceVersion'))
    const collection = collectionOf(kind).name
    await this.#state.until(
      `${kind} ${name} is shown`,
      () => (this.#state.seen.get(collection) ?? 0) >= version,
    )
  }
}

function collectionOf(kind: string): (typeof COLLECTIONS)[string] {
  const found = COLLECTIONS[kind]
  if (found === undefined) throw new TypeError(`the sandbox does not write ${JSON.stringify(kind)}`)
  return found
}
