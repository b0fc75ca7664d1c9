import { HEADLESS } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import type { StringMap } from '../objects/object-meta.ts'
import { isHeadless, type ServiceObject } from '../objects/service-object.ts'
import { withoutKeys } from '../objects/string-map.ts'

/**
 * The labels of a Service as its Endpoints and slices carry them. Whether it is
 * headless says the Service itself and no label: nodes leave out what is marked so.
 */
export function serviceLabels(service: ServiceObject): StringMap {
  return {
    ...withoutKeys(service.meta.labels, ...NAMES.headless),
    ...(isHeadless(service) ? { [HEADLESS]: '' } : {}),
  }
}
