import type { Raw } from '../../../resources/raw.ts'
import { changeEach, defaultProtocol } from '../shared/edit.ts'

export function defaultEndpoints(endpoints: Raw): Raw {
  return changeEach(endpoints, 'subsets', (subset) => changeEach(subset, 'ports', defaultProtocol))
}
