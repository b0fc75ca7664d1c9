/** Something that waits, and what to do when it must give up its place. */
export interface Waiting {
  readonly start: () => void
  readonly reject: () => void
}

/**
 * Those who wait, served client by client in turn: who sends a thousand requests
 * makes mostly himself wait. In a full queue the client with the most waiting
 * loses its newest.
 */
export class FairQueue {
  readonly #byClient = new Map<string, Waiting[]>()
  readonly #capacity: number
  #size = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#size
  }

  push(client: string, waiting: Waiting): void {
    const mine = this.#byClient.get(client) ?? []
    mine.push(waiting)
    this.#byClient.set(client, mine)
    this.#size++
    if (this.#size > this.#capacity) this.#dropOfLongest()
  }

  /** The next one; its client then comes after all others. */
  shift(): Waiting | undefined {
    for (const [client, waiting] of this.#byClient) {
      this.#byClient.delete(client)
      const next = waiting.shift()
      if (waiting.length > 0) this.#byClient.set(client, waiting)
      if (next === undefined) continue
      this.#size--
      return next
    }
    return undefined
  }

  /** Takes one away that waits no longer. */
  remove(client: string, waiting: Waiting): void {
    const mine = this.#byClient.get(client) ?? []
    const index = mine.indexOf(waiting)
    if (index < 0) return
    mine.splice(index, 1)
    this.#size--
    if (mine.length === 0) this.#byClient.delete(client)
  }

  #dropOfLongest(): void {
    let longest: readonly [client: string, waiting: readonly Waiting[]] = ['', []]
    for (const one of this.#byClient) {
      if (one[1].length >= longest[1].length) longest = one
    }
    const newest = longest[1].at(-1)
    if (newest === undefined) return
    this.remove(longest[0], newest)
    newest.reject()
  }
}
