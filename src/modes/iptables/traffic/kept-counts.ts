import type { ObjectKey } from '../../mode.ts'

interface Count {
  /** By rules that were replaced. */
  before: number
  /** By the present rule, when it was read last. */
  last: number
}

interface Chain {
  /** By backends that the chain has no more. */
  gone: number
  readonly counts: Map<string, Count>
}

/**
 * What the rules of chains counted, through rewritten chains: connections between the last reading and the rewriting are
 * not counted. Only what counted something takes memory.
 */
export class KeptCounts {
  readonly #chains = new Map<ObjectKey, Chain>()

  has(key: ObjectKey): boolean {
    return this.#chains.has(key)
  }

  /**
   * A reading of all chains but the ignored ones: packets by destination. One that shows less than before was
   * begun anew.
   */
  take(
    found: ReadonlyMap<ObjectKey, ReadonlyMap<string, number>>,
    ignored: ReadonlySet<ObjectKey>,
  ): void {
    for (const [key, chain] of this.#chains) {
      if (ignored.has(key)) continue
      for (const [destination, count] of chain.counts) {
        follow(count, found.get(key)?.get(destination) ?? 0)
      }
    }
    for (const [key, packets] of found) {
      if (ignored.has(key)) continue
      const chain = this.#chains.get(key) ?? { gone: 0, counts: new Map<string, Count>() }
      this.#chains.set(key, chain)
      for (const [destination, last] of packets) {
        if (!chain.counts.has(destination)) chain.counts.set(destination, { before: 0, last })
      }
    }
  }

  /** The chain was written again, with these destinations. */
  restart(key: ObjectKey, destinations: ReadonlySet<string>): void {
    const chain = this.#chains.get(key)
    for (const [destination, count] of chain?.counts ?? []) {
      follow(count, 0)
      if (chain === undefined || destinations.has(destination)) continue
      chain.gone += count.before
      chain.counts.delete(destination)
    }
  }

  forget(key: ObjectKey): void {
    this.#chains.delete(key)
  }

  of(key: ObjectKey, destination: string): number {
    const count = this.#chains.get(key)?.counts.get(destination)
    return count === undefined ? 0 : count.before + count.last
  }

  /** Of each chain, with backends that are gone. */
  totals(): ReadonlyMap<ObjectKey, number> {
    return new Map([...this.#chains].map(([key, chain]) => [key, totalOf(chain)] as const))
  }
}

function follow(count: Count, now: number): void {
  if (now < count.last) count.before += count.last
  count.last = now
}

function totalOf({ gone, counts }: Chain): number {
  return [...counts.values()].reduce((sum, { before, last }) => sum + before + last, gone)
}
