import type { Raw } from '../../../resources/raw.ts'
import { changePresent } from '../shared/edit.ts'
import { writeQuantities } from '../shared/quantities.ts'

export function defaultNode(node: Raw): Raw {
  return changePresent(node, 'status', (status) =>
    writeQuantities(status, ['capacity', 'allocatable']),
  )
}
