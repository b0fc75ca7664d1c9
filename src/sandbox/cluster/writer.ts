import type { ApiClient } from '../../client/api-client.ts'
import { type ApiResult, failureError } from '../../client/failure.ts'
import { isJsonObject, type JsonObject, stringAt } from '../../lib/json.ts'

const COLLECTIONS: Readonly<Record<string, string>> = {
  Service: '/api/v1/namespaces/default/services',
  Pod: '/api/v1/namespaces/default/pods',
  Node: '/api/v1/nodes',
  EndpointSlice: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
}

/**
 * Writes to the API server, and remembers how far it got: the highest revision
 * that it wrote per resource, which the daemon reports back once it is in the kernel.
 */
export class Writer {
  /** `services` → 17. */
  readonly written = new Map<string, number>()
  readonly #client: ApiClient

  constructor(client: ApiClient) {
    this.#client = client
  }

  /** Creates an object, and its status too, as its controller would. */
  async create(object: JsonObject): Promise<void> {
    const [kind, name] = [stringAt(object, 'kind'), stringAt(object, 'metadata', 'name')]
    this.#note(kind, name, await this.#client.create(collectionOf(kind), object))
    const { status } = object
    if (status !== undefined) await this.patch(kind, `${name}/status`, { status })
  }

  /** Merge patch (RFC 7396) of an object, or of its status (`web/status`); returns its revision. */
  async patch(kind: string, name: string, patch: JsonObject): Promise<number> {
    const type = 'application/merge-patch+json'
    const path = `${collectionOf(kind)}/${name}`
    return this.#note(kind, name, await this.#client.patch(path, patch, { type }))
  }

  #note(kind: string, name: string, result: ApiResult<unknown>): number {
    if (!result.ok) throw failureError(result.failure, `${kind} ${name}`)
    const version = isJsonObject(result.value)
      ? Number(stringAt(result.value, 'metadata', 'resourceVersion'))
      : 0
    const resource = collectionOf(kind).split('/').at(-1) ?? ''
    this.written.set(resource, Math.max(version, this.written.get(resource) ?? 0))
    return version
  }
}

function collectionOf(kind: string): string {
  const path = COLLECTIONS[kind]
  if (path === undefined) throw new TypeError(`the sandbox does not write ${JSON.stringify(kind)}`)
  return path
}
