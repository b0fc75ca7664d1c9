/**
 * Which troubles last, and whom they strike: something that strikes a thousand
 * keys for an hour is one episode, with one beginning and one end.
 */
export class ProblemEpisodes {
  readonly #struck = new Map<string, Set<string>>()

  /** Whether this is the beginning of the trouble. */
  begin(trouble: string, key: string): boolean {
    const keys = this.#struck.get(trouble)
    if (keys === undefined) this.#struck.set(trouble, new Set([key]))
    else keys.add(key)
    return keys === undefined
  }

  clear(): void {
    this.#struck.clear()
  }

  /** The key is well; returns the troubles that ended with that. */
  end(key: string): readonly string[] {
    const ended: string[] = []
    for (const [trouble, keys] of this.#struck) {
      if (keys.delete(key) && keys.size === 0) ended.push(trouble)
    }
    for (const trouble of ended) this.#struck.delete(trouble)
    return ended
  }
}
