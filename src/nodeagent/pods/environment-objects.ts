import type { ApiClient } from '../../client/http/api-client.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ContainerPlan } from '../plan/container-plan.ts'
import type { ObjectReference } from '../plan/environment-plan.ts'
import { type ObjectValues, readObjectValues } from '../volumes/object-values.ts'

/** The ConfigMaps and Secrets that the environments of one Pod refer to. */
export class EnvironmentObjects {
  readonly #client: Pick<ApiClient, 'get'>
  readonly #namespace: string
  /** What was read last, by resource and name. */
  readonly #known = new Map<string, ObjectValues>()

  constructor(client: Pick<ApiClient, 'get'>, namespace: string) {
    this.#client = client
    this.#namespace = namespace
  }

  /**
   * Reads all that a container refers to, and returns how to look them up. A restart does not wait for the API
   * server: while it does not answer, the values that were read before are used. Throws when it refuses, or was
   * never reached.
   */
  async read({ environment, environmentSources }: ContainerPlan) {
    const references: readonly ObjectReference[] = [
      ...environmentSources,
      ...environment.flatMap((entry) => ('reference' in entry ? [entry.reference] : [])),
    ]
    const wanted = new Map(references.map((one) => [keyOf(one), one] as const))
    const found = await Promise.all(
      [...wanted].map(async ([key, one]) => [key, await this.#read(one)] as const),
    )
    const values = new Map(found)
    return (reference: ObjectReference) => {
      const object = values.get(keyOf(reference))
      return object && textsOf(object)
    }
  }

  async #read(reference: ObjectReference): Promise<ObjectValues | undefined> {
    const { resource, name } = reference
    const key = keyOf(reference)
    try {
      const object = { namespace: this.#namespace, resource, name }
      const values = await readObjectValues(this.#client, object)
      if (values === undefined) this.#known.delete(key)
      else this.#known.set(key, values)
      return values
    } catch (error) {
      const known = this.#known.get(key)
      const isRefused = error instanceof NodeProxyError && error.code === 'NP_CLIENT_REFUSED'
      if (known === undefined || isRefused) throw error
      return known
    }
  }
}

function keyOf({ resource, name }: ObjectReference): string {
  return `${resource}/${name}`
}

function textsOf(values: ObjectValues): ReadonlyMap<string, string> {
  return new Map([...values].map(([key, value]) => [key, value.toString('utf8')] as const))
}
