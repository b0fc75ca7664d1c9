import type { ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import { type Family, hostPort } from '../../lib/ip.ts'
import {
  type ApplyResult,
  addNumbers,
  BackendSums,
  type BackendTraffic,
  type ObjectKey,
  type TrafficNumbers,
  type TrafficReading,
} from '../mode.ts'
import { keyOf } from '../netfilter/chains/object.ts'

const DNAT = /-j DNAT --to-destination (\S+)$/

/** What is forwarded, and in which chains. */
export interface CountedProgram {
  entries(): Iterable<ForwardingEntry>
  entryOf(key: ObjectKey): ForwardingEntry | undefined
  /** The chains of both pools, whether they exist or not. */
  poolChainsOf(entry: ForwardingEntry): readonly ObjectKey[]
}

/** What the counters are read with. */
export interface DnatCountersParts {
  readonly iptables: Pick<Iptables, 'counters'>
  readonly families: readonly Family[]
  readonly program: CountedProgram
}

/**
 * Connections by Service and backend. The nat table sees the first packet of each connection, so the packets that a
 * DNAT rule counted are connections; packets and bytes are not counted. The counters of a chain that is written again
 * restart at 0; what they showed at the last reading is kept here. One reading at a time.
 */
export class DnatCounters {
  readonly #parts: DnatCountersParts
  readonly #kept = new KeptCounts()
  /** Chains that are being written. */
  readonly #writing = new Set<ObjectKey>()
  /** Chains that were written while the table is listed: the list may have them as they were before. */
  #writtenMeanwhile = new Set<ObjectKey>()

  constructor(parts: DnatCountersParts) {
    this.#parts = parts
  }

  /** Costs a listing of the nat table. */
  async read(isWanted?: (service: ServiceKey) => boolean): Promise<TrafficReading> {
    this.#writtenMeanwhile = new Set(this.#writing)
    const found = await this.#list()
    this.#kept.take(found, this.#writtenMeanwhile)
    const totals = new Map<ServiceKey, TrafficNumbers>()
    for (const [key, connections] of this.#kept.totals()) {
      const service = this.#parts.program.entryOf(key)?.service
      if (service === undefined) this.#kept.forget(key)
      else totals.set(service, addNumbers(totals.get(service), { connections }))
    }
    return { totals, backends: isWanted ? this.#backends(isWanted) : new Map() }
  }

  /** Writes chains. The kernel resets the counters of all but those that `write` reports as failed. */
  async around<T extends Pick<ApplyResult, 'failed'>>(
    keys: readonly ObjectKey[],
    write: () => Promise<T>,
  ): Promise<T> {
    for (const key of keys) {
      this.#writing.add(key)
      this.#writtenMeanwhile.add(key)
    }
    try {
      const result = await write()
      for (const key of keys) if (!result.failed.has(key)) this.#restart(key)
      return result
    } finally {
      for (const key of keys) this.#writing.delete(key)
    }
  }

  #restart(key: ObjectKey): void {
    if (!this.#kept.has(key)) return
    const entry = this.#parts.program.entryOf(key)
    this.#kept.restart(key, new Set(entry && destinationsOf(entry).keys()))
  }

  /** By chain, packets by destination; a sticky Service has several rules for one. */
  async #list(): Promise<ReadonlyMap<ObjectKey, ReadonlyMap<string, number>>> {
    const found = new Map<ObjectKey, Map<string, number>>()
    for (const family of this.#parts.families) {
      await this.#parts.iptables.counters(family, 'nat', ({ chain, rule, packets }) => {
        const destination = DNAT.exec(rule)?.[1]
        const key = keyOf({ kind: 'chain', family, table: 'nat', chain })
        if (destination === undefined || this.#parts.program.entryOf(key) === undefined) return
        const counts = found.get(key) ?? new Map<string, number>()
        found.set(key, counts.set(destination, (counts.get(destination) ?? 0) + packets))
      })
    }
    return found
  }

  #backends(isWanted: (service: ServiceKey) => boolean): TrafficReading['backends'] {
    const backends = new BackendSums()
    for (const entry of this.#parts.program.entries()) {
      if (!isWanted(entry.service)) continue
      for (const backend of this.#backendsOf(entry)) backends.add(entry.service, backend)
    }
    return backends.byService
  }

  #backendsOf(entry: ForwardingEntry): readonly BackendTraffic[] {
    const chains = this.#parts.program.poolChainsOf(entry)
    return [...destinationsOf(entry)].map(([destination, { ip, port }]) => {
      const counts = chains.map((key) => this.#kept.of(key, destination))
      const connections = counts.reduce((sum, count) => sum + count, 0)
      return { entry: entry.id, ip, port, connections }
    })
  }
}

/** The backends of both pools, each once, as the destinations in their DNAT rules. */
function destinationsOf({ pools }: ForwardingEntry) {
  const backends = [...pools.cluster, ...pools.local]
  return new Map(backends.map((backend) => [hostPort(backend.ip, backend.port), backend]))
}

interface Count {
  /** Counted by rules that were replaced. */
  before: number
  /** Counted by the present rule at the last reading. */
  last: number
}

interface Chain {
  /** Counted for backends that are no longer in the chain. */
  gone: number
  readonly counts: Map<string, Count>
}

/**
 * What the rules of chains counted, kept while chains are rewritten: connections between the last reading and the
 * rewriting are not counted. Only chains that counted something take memory.
 */
class KeptCounts {
  readonly #chains = new Map<ObjectKey, Chain>()

  has(key: ObjectKey): boolean {
    return this.#chains.has(key)
  }

  /**
   * Takes a reading of all chains except the ignored ones: packets by destination. A counter that is lower than before
   * was reset.
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

  /** The total of each chain, including backends that are gone. */
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
