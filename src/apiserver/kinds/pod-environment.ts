import { type JsonObject, stringAt } from '../../lib/json.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { MASTER_NAMES, MASTER_NAMESPACE, podEnvironment } from '../../resources/pod-environment.ts'
import type { Item } from '../cache/item.ts'
import { type DerivedSubresource, storageKey, storagePrefix } from '../resource.ts'
import { services } from './service.ts'

/** The variables by which a Pod finds Services, as they would be set if it started now. */
export const podEnvironmentSubresource: DerivedSubresource = {
  name: 'environment',
  kind: 'PodEnvironment',
  derive: async ({ feed }, pod) => {
    const cache = feed.cache(services)
    const own = cache.under(storagePrefix(services, stringAt(pod, 'metadata', 'namespace')))
    const masters = MASTER_NAMES.flatMap(
      (name) => cache.get(storageKey(services, MASTER_NAMESPACE, name)) ?? [],
    )
    const found = new Set([...own, ...masters])
    const env = await yieldToEventLoop(podEnvironment(pod, found.values().map(decoded)))
    return { env: env.map((variable) => ({ ...variable })) }
  },
}

function decoded({ value }: Item): JsonObject {
  return JSON.parse(value.toString()) as JsonObject
}
