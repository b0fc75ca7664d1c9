import { HEADLESS } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import { isHeadless, type ServiceObject } from '../objects/service-object.ts'
import type { StringMap } from '../objects/string-map.ts'
import { withoutKeys } from '../objects/string-map.ts'

/**
 * The labels of a Service as its Endpoints and slices carry them. Its ClusterIP decides whether they have the
 * headless label, and not a label of the Service, because nodes ignore slices with that label.
 */
export function serviceLabels(service: ServiceObject): StringMap {
  return {
    ...withoutKeys(service.meta.labels, ...NAMES.headless),
    ...(isHeadless(service) ? { [HEADLESS]: '' } : {}),
  }
}
