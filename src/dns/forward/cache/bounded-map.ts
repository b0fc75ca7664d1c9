/** What a bounded map may hold. */
export interface MapLimits {
  readonly maxEntries: number
  /** Bytes of all entries together, as their owner estimates them. */
  readonly maxBytes: number
}

interface Held<V> {
  readonly value: V
  readonly bytes: number
}

/** A map that removes the least recently used entries when it has too many, or they take too many bytes. */
export class BoundedMap<V> {
  /** The least recently used first. */
  readonly #entries = new Map<string, Held<V>>()
  readonly #limits: MapLimits
  readonly #onEvict: () => void
  #bytes = 0

  constructor(limits: MapLimits, onEvict: () => void) {
    this.#limits = limits
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The value, which is the most recently used one from now on. */
  get(key: string): V | undefined {
    const held = this.#entries.get(key)
    if (held === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, held)
    return held.value
  }

  /** Replaces the value; one that is larger than the whole map may be is not kept. */
  set(key: string, value: V, bytes: number): void {
    this.delete(key)
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const [oldest] of this.#entries) {
      const { maxEntries, maxBytes } = this.#limits
      if (this.#entries.size <= maxEntries && this.#bytes <= maxBytes) break
      this.delete(oldest)
      this.#onEvict()
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}
