import type { Digest, ObjectKey } from '../modes/mode.ts'

/** After a single repair, another process may have undone it at once, as a restarting firewall does. */
const MIN_REPAIRS = 3

/**
 * Digests of objects that the kernel prints in another form than they were written. A form is learned from
 * an object that the kernel prints alike after three repairs.
 */
export class NormalisedForms {
  readonly #known = new Map<ObjectKey, Digest>()
  readonly #suspected = new Map<ObjectKey, { readonly digest: Digest; readonly times: number }>()

  /** The digest of the object's normalised form; undefined: the kernel prints it as written. */
  get(key: ObjectKey): Digest | undefined {
    return this.#known.get(key)
  }

  /** After a repair the kernel still prints `digest`. True once that is the object's normalised form. */
  learn(key: ObjectKey, digest: Digest): boolean {
    const before = this.#suspected.get(key)
    const times = before?.digest === digest ? before.times + 1 : 1
    if (times < MIN_REPAIRS) {
      this.#suspected.set(key, { digest, times })
      return false
    }
    this.#suspected.delete(key)
    this.#known.set(key, digest)
    return true
  }

  /** Discards what is known of an object: the wanted content changed, or the kernel prints it as written. */
  forget(key: ObjectKey): void {
    this.#known.delete(key)
    this.#suspected.delete(key)
  }
}
