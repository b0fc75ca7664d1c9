/**
 * Strings in code unit order. An insert at the end is O(1); elsewhere it moves pointers in memory, which takes
 * microseconds at tens of thousands of keys.
 */
export class SortedKeys {
  readonly #keys: string[] = []

  get size(): number {
    return this.#keys.length
  }

  at(index: number): string | undefined {
    return this.#keys[index]
  }

  add(key: string): void {
    const last = this.#keys.at(-1)
    if (last === undefined || last < key) {
      this.#keys.push(key)
      return
    }
    const index = this.indexFrom(key)
    if (this.#keys[index] !== key) this.#keys.splice(index, 0, key)
  }

  delete(key: string): void {
    const index = this.indexFrom(key)
    if (this.#keys[index] === key) this.#keys.splice(index, 1)
  }

  /** Index of the first key that is ≥ `key`. */
  indexFrom(key: string): number {
    let low = 0
    let high = this.#keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#keys[middle]! < key) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The keys that start with `prefix` and are greater than `after`, if that is given. */
  *under(prefix: string, after?: string): Generator<string> {
    const beyond = after !== undefined && after >= prefix
    const start = this.indexFrom(beyond ? `${after}\0` : prefix)
    for (let index = start; index < this.#keys.length; index++) {
      const key = this.#keys[index]!
      if (!key.startsWith(prefix)) return
      yield key
    }
  }
}
