import type { ObjectKey } from '../../mode.ts'
import type { PlacedElement } from '../keys/digest.ts'

/** Elements at most; of more changes everything is read. */
const LIMIT = 5_000

/**
 * Elements that other programs added, changed or deleted, by the object that they belong to, until they are read: of
 * an object that is not wanted nothing else says which elements it has.
 */
export class Suspects {
  readonly #byObject = new Map<ObjectKey, PlacedElement[]>()
  #count = 0

  /** False: they are too many, and none is kept. */
  add(key: ObjectKey, placed: PlacedElement): boolean {
    if (++this.#count > LIMIT) {
      this.clear()
      return false
    }
    const known = this.#byObject.get(key)
    if (known) known.push(placed)
    else this.#byObject.set(key, [placed])
    return true
  }

  /** Those of an object, which are forgotten. */
  take(key: ObjectKey): readonly PlacedElement[] {
    const placed = this.#byObject.get(key) ?? []
    this.#byObject.delete(key)
    this.#count -= placed.length
    return placed
  }

  clear(): void {
    this.#byObject.clear()
    this.#count = 0
  }
}
