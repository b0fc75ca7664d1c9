import type { Digest, ObjectKey } from '../modes/mode.ts'

/** Once may be somebody who undid our repair at once, as a firewall that restarts does. */
const REPAIRS_UNTIL_BELIEVED = 3

/**
 * Digests under which the kernel shows what we wrote, where it prints it in its
 * own way. Learned only from an object that looks the same after several repairs.
 */
export class Spellings {
  readonly #known = new Map<ObjectKey, Digest>()
  readonly #suspected = new Map<ObjectKey, { readonly digest: Digest; readonly times: number }>()

  /** How the kernel shows an object that we wrote; undefined: as we wrote it. */
  get(key: ObjectKey): Digest | undefined {
    return this.#known.get(key)
  }

  /** After a repair an object shows again what it showed before. True once that is its spelling. */
  insists(key: ObjectKey, digest: Digest): boolean {
    const before = this.#suspected.get(key)
    const times = before?.digest === digest ? before.times + 1 : 1
    if (times < REPAIRS_UNTIL_BELIEVED) {
      this.#suspected.set(key, { digest, times })
      return false
    }
    this.#suspected.delete(key)
    this.#known.set(key, digest)
    return true
  }

  /** The object is wanted otherwise, or shows what we wrote. */
  forget(key: ObjectKey): void {
    this.#known.delete(key)
    this.#suspected.delete(key)
  }
}
