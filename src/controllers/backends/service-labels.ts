import { HEADLESS } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import { isHeadless, type ServiceObject } from '../objects/service-object.ts'
import type { StringMap } from '../objects/string-map.ts'
import { withoutKeys } from '../objects/string-map.ts'

/**
 * The labels of a Service as its Endpoints and slices carry them. The headless label
 * follows from the Service itself and not from its labels: nodes leave out what has it.
 */
export function serviceLabels(service: ServiceObject): StringMap {
  return {
    ...withoutKeys(service.meta.labels, ...NAMES.headless),
    ...(isHeadless(service) ? { [HEADLESS]: '' } : {}),
  }
}
