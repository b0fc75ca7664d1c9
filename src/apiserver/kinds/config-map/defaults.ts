import type { Raw } from '../../../resources/raw.ts'
import { joinBase64Lines } from '../shared/data-map.ts'
import { changePresent } from '../shared/edit.ts'

export function defaultConfigMap(map: Raw): Raw {
  return changePresent(map, 'binaryData', joinBase64Lines)
}
