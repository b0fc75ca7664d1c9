/**
 * The present problems, and the keys that they concern, so that a problem of a thousand keys is reported once when
 * it begins and once when it ends.
 */
export class ProblemEpisodes {
  readonly #keysOf = new Map<string, Set<string>>()

  /** Records a problem of a key; returns whether it is the first key of that kind. */
  begin(kind: string, key: string): boolean {
    const keys = this.#keysOf.get(kind)
    if (keys === undefined) this.#keysOf.set(kind, new Set([key]))
    else keys.add(key)
    return keys === undefined
  }

  /** Discards all problems, without reporting their end. */
  clear(): void {
    this.#keysOf.clear()
  }

  /** The key was reconciled; returns the kinds that ended with that. */
  end(key: string): readonly string[] {
    const ended: string[] = []
    for (const [kind, keys] of this.#keysOf) {
      if (keys.delete(key) && keys.size === 0) ended.push(kind)
    }
    for (const kind of ended) this.#keysOf.delete(kind)
    return ended
  }
}
