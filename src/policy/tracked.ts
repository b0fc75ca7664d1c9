/**
 * Remembers what keys held when the changes were last taken, so that what was changed and changed back is no change.
 * `K` names something, `V` is what it held: undefined if it did not exist.
 */
export class Tracked<K, V> {
  readonly #before = new Map<K, V | undefined>()
  readonly #isSame: (a: V, b: V) => boolean

  constructor(isSame: (a: V, b: V) => boolean = Object.is) {
    this.#isSame = isSame
  }

  /** To be called before a key gets another value. */
  note(key: K, held: V | undefined): void {
    if (!this.#before.has(key)) this.#before.set(key, held)
  }

  /** The keys whose values differ from what they held, with what they held; begins anew. */
  take(valueOf: (key: K) => V | undefined): ReadonlyMap<K, V | undefined> {
    const changed = [...this.#before].filter(([key, held]) => {
      const now = valueOf(key)
      if (held === undefined || now === undefined) return held !== now
      return !this.#isSame(held, now)
    })
    this.#before.clear()
    return new Map(changed)
  }
}
