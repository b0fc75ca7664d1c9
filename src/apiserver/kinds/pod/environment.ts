import { type JsonObject, stringAt } from '../../../lib/json.ts'
import { inBreaths } from '../../../lib/yield-to-event-loop.ts'
import {
  API_SERVICE_NAMES,
  API_SERVICE_NAMESPACE,
  podEnvironment,
} from '../../../resources/pod-environment.ts'
import type { DerivedSubresource, ObjectReader } from '../../resource/resource.ts'
import { services } from '../service/resource.ts'

/** The variables by which a Pod finds Services, as they would be set if it started now. */
export const podEnvironmentSubresource: DerivedSubresource = {
  name: 'environment',
  kind: 'PodEnvironment',
  derive: async (objects, pod) => {
    const env = await inBreaths(podEnvironment(pod, visibleServices(objects, pod)))
    return { env: env.map((variable) => ({ ...variable })) }
  },
}

/** The Services of the Pod's namespace, and those of the API. */
function* visibleServices(objects: ObjectReader, pod: JsonObject): Generator<JsonObject> {
  const namespace = stringAt(pod, 'metadata', 'namespace')
  yield* objects.list(services, namespace)
  if (namespace === API_SERVICE_NAMESPACE) return
  for (const name of API_SERVICE_NAMES) {
    const apiService = objects.get(services, API_SERVICE_NAMESPACE, name)
    if (apiService !== undefined) yield apiService
  }
}
