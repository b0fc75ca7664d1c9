import { LEASE_NAMESPACE } from '../../announcement/lease-object.ts'
import type { ApiClient, RequestOptions } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import type { ApiFailure, ApiResult } from '../../client/http/failure.ts'
import type { Change } from '../../client/reflector/object-tracker.ts'
import type { Reflector } from '../../client/reflector/reflector.ts'
import type { Clock } from '../../lib/clock.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import { createFeed } from '../../watch/feed.ts'

const RESOURCE = 'leases'
const PATH = `/apis/coordination.k8s.io/v1/namespaces/${LEASE_NAMESPACE}/${RESOURCE}`

/** Short pauses, because no node takes over an address before it watches Leases again. */
const WATCH_TIMING = {
  backoffBaseMs: 50,
  backoffMaxMs: 1_000,
  awayMaxMs: 500,
}

type Verb = 'get' | 'create' | 'patch' | 'delete'

/** What `LeaseClient` uses. */
export interface LeaseClientParts {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly reporter: RequestReporter
}

/** What follows a watch of Leases. */
export interface LeaseFollower<T> {
  readonly selector: string
  /** Undefined for an object that is to be ignored. */
  readonly decode: (raw: unknown) => T | undefined
  readonly onChanges: (changes: readonly Change<T>[]) => void
  /** Called after each complete list. */
  readonly onListed: () => void
}

/** Reads, writes and follows Leases of `LEASE_NAMESPACE`. What fails is reported as failures of `leases`. */
export class LeaseClient {
  readonly #parts: LeaseClientParts

  constructor(parts: LeaseClientParts) {
    this.#parts = parts
  }

  get(name: string, withinMs: number): Promise<ApiResult<unknown>> {
    return this.#send('get', withinMs, (client, options) => client.get(pathOf(name), options))
  }

  create(object: JsonObject, withinMs: number): Promise<ApiResult<unknown>> {
    return this.#send('create', withinMs, (client, options) => client.create(PATH, object, options))
  }

  /** Changes a Lease by a merge patch; with a resourceVersion only that version (409), never one that is absent (404). */
  patch(name: string, patch: JsonObject, withinMs: number): Promise<ApiResult<unknown>> {
    const type = 'application/merge-patch+json'
    return this.#send('patch', withinMs, (client, options) =>
      client.patch(pathOf(name), patch, { ...options, type }),
    )
  }

  /** Deletes a Lease; with a version only that one. */
  remove(name: string, version: string | undefined, withinMs: number): Promise<ApiResult<unknown>> {
    const body = version === undefined ? {} : { preconditions: { resourceVersion: version } }
    return this.#send('delete', withinMs, (client, options) =>
      client.remove(pathOf(name), body, options),
    )
  }

  follow<T>({ selector, decode, onChanges, onListed }: LeaseFollower<T>): Reflector {
    const context = { ...this.#parts, timing: WATCH_TIMING, onProblem: () => undefined }
    return createFeed<T>(context, {
      name: RESOURCE,
      resource: { path: PATH, query: { labelSelector: selector } },
      decode: (raw) => ({ ok: true, value: decode(raw), warnings: [] }),
      onChanges,
      onListed,
    })
  }

  async #send(
    verb: Verb,
    withinMs: number,
    send: (client: ApiClient, options: RequestOptions) => Promise<ApiResult<unknown>>,
  ): Promise<ApiResult<unknown>> {
    const { client, clock, reporter } = this.#parts
    const timeout = new AbortController()
    const cancel = clock.after(withinMs, () => timeout.abort())
    const result = await send(client, { signal: timeout.signal })
    cancel()
    if (result.ok) reporter.succeeded(RESOURCE)
    else if (!isOvertaken(verb, result.failure)) {
      reporter.failed({ verb, resource: RESOURCE }, result.failure)
    }
    return result
  }
}

/** Whether the Lease is not as its writer had seen it. A creation is answered with 404 if the namespace is absent. */
export function isOvertaken(verb: Verb, { code }: ApiFailure): boolean {
  return code === 409 || (code === 404 && verb !== 'create')
}

function pathOf(name: string): string {
  return `${PATH}/${name}`
}
