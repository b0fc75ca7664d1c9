/** A waiting request: what starts it, and what rejects it when the queue is full. */
export interface Waiting {
  readonly start: () => void
  readonly reject: () => void
}

/**
 * Waiting requests, served client by client in turn: a client that sends a thousand requests
 * delays mostly its own. When the queue is full, the client with the most waiting requests
 * loses its newest one.
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
    if (this.#size > this.#capacity) this.#rejectNewestOfLargest()
  }

  /** Takes the next request out of the queue; its client then comes after all other clients. */
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

  /** Removes a request that waits no longer. */
  remove(client: string, waiting: Waiting): void {
    const mine = this.#byClient.get(client) ?? []
    const index = mine.indexOf(waiting)
    if (index < 0) return
    mine.splice(index, 1)
    this.#size--
    if (mine.length === 0) this.#byClient.delete(client)
  }

  #rejectNewestOfLargest(): void {
    let largest: readonly [client: string, waiting: readonly Waiting[]] = ['', []]
    for (const one of this.#byClient) {
      if (one[1].length >= largest[1].length) largest = one
    }
    const newest = largest[1].at(-1)
    if (newest === undefined) return
    this.remove(largest[0], newest)
    newest.reject()
  }
}
