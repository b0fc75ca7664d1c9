import type { Raw } from '../../../../resources/raw.ts'
import { changePresent, fill } from '../edit.ts'

/** What shows a field of the pod: in version v1 of pods unless it says otherwise. */
export function defaultFieldRef(source: Raw): Raw {
  return changePresent(source, 'fieldRef', (field) => fill(field, { apiVersion: 'v1' }))
}
