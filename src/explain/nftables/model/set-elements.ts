import type { Json } from './json.ts'
import type { Part } from './value.ts'

/** The elements of a set; of a map they are pairs. */
export interface SetElements {
  /** Those that may have the key; undefined: they are not read yet, and will be before the packet is walked again; or cannot be read. */
  withKey(parts: readonly Part[]): readonly Json[] | undefined
}

/** Elements that were listed with their set. */
export function listedElements(elements: readonly Json[]): SetElements {
  return { withKey: () => elements }
}
