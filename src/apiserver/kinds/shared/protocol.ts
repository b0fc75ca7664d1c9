import type { Raw } from '../../../resources/raw.ts'
import { fill } from './edit.ts'

/** A port whose protocol is TCP unless it says otherwise. */
export function defaultProtocol(port: Raw): Raw {
  return fill(port, { protocol: 'TCP' })
}
