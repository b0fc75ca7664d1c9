import type { Family } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import { frontendOfElement } from '../keys/object-key.ts'

/** What an element of `connections` counts. */
export interface ConnectionKey {
  /** The frontend with the address to which the connections were sent: it is looked for first. */
  readonly byAddress: ObjectKey
  /** The node port of that number. */
  readonly byPort: ObjectKey
  /** As data of a map has it. */
  readonly backend: Buffer
}

/** The key is address . proto . port of the frontend, then address . port of the backend. */
export function connectionKey(family: Family, key: Buffer): ConnectionKey {
  const address = family === 4 ? 4 : 16
  return {
    byAddress: frontendOfElement(family, key, true),
    byPort: frontendOfElement(family, key.subarray(address), false),
    backend: key.subarray(address + 8),
  }
}
