import type { Json } from './json.ts'
import type { Part } from './value.ts'

/** The elements of a set; those of a map are pairs. */
export interface SetElements {
  /**
   * The elements that may have the key. Undefined if they cannot be read, or were not read yet: then they are read
   * before the packet is walked again.
   */
  withKey(parts: readonly Part[]): readonly Json[] | undefined
}

/** Elements that were listed with their set. */
export function listedElements(elements: readonly Json[]): SetElements {
  return { withKey: () => elements }
}
