import type { ObjectKey } from '../../mode.ts'
import type { PlacedElement } from '../keys/digest.ts'

/** The maximum number of elements; if more change, everything is read. */
const LIMIT = 5_000

/**
 * Elements that other programs added, changed or deleted, by the object that they belong to, until they are read. For
 * an object that is not wanted, nothing else shows which elements it has.
 */
export class Suspects {
  readonly #byObject = new Map<ObjectKey, PlacedElement[]>()
  #count = 0

  /** Returns false if there are too many; then none is kept. */
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

  /** Returns the suspects of an object and forgets them. */
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
