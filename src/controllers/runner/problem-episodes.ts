/**
 * The problems that last, and the keys that they concern: a problem of a thousand
 * keys that lasts an hour is one episode, with one beginning and one end.
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
