import { HEADLESS } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import { isHeadless, type ServiceObject } from '../objects/service-object.ts'
import type { StringMap } from '../objects/string-map.ts'
import { withoutKeys } from '../objects/string-map.ts'

/**
 * The labels of the Endpoints and slices of a Service: its own, but the headless label only if it has no ClusterIP.
 * A label of that name on the Service is not copied, because service proxies ignore slices with it.
 */
export function serviceLabels(service: ServiceObject): StringMap {
  return {
    ...withoutKeys(service.meta.labels, ...NAMES.headless),
    ...(isHeadless(service) ? { [HEADLESS]: '' } : {}),
  }
}
