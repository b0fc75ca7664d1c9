import type { Raw } from '../raw.ts'
import { changePresent } from './edit.ts'
import { writeQuantities } from './quantities.ts'

export function defaultNode(node: Raw): Raw {
  return changePresent(node, 'status', (status) =>
    writeQuantities(status, ['capacity', 'allocatable']),
  )
}
