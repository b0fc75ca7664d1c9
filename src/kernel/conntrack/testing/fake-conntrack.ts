import type { Family, IpAddress } from '../../../lib/ip.ts'
import type { Conntrack, FlowChoice, FlowEnds, FlowFilter } from '../conntrack.ts'

export interface FakeFlow {
  readonly family: Family
  readonly protocol: FlowFilter['protocol']
  /** The address and port that the client sent to. */
  readonly ip: string
  readonly port: number
  /** `ip:port` (IPv6 in brackets) that it was forwarded to. */
  readonly backend: string
}

/** A table that the test fills. */
export class FakeConntrack implements Conntrack {
  flows: FakeFlow[] = []
  /** The filters of every cut. */
  readonly cuts: (readonly FlowFilter[])[] = []

  /** Every call of `cutTranslatedTo`. */
  readonly translated: {
    readonly ports: ReadonlySet<number>
    readonly protocols: readonly string[]
    readonly which: FlowChoice
  }[] = []

  async cutTranslatedTo(
    ports: ReadonlySet<number>,
    protocols: readonly string[],
    which: FlowChoice = 'all',
  ): Promise<void> {
    this.translated.push({ ports, protocols, which })
  }

  /** The ends of the flows that `cutRefused` finds. */
  ends: FlowEnds[] = []
  /** Thrown by `cutRefused` while set. */
  failure: Error | undefined

  async cutRefused(
    addresses: ReadonlySet<IpAddress>,
    isRefused: (flow: FlowEnds) => boolean,
  ): Promise<{ readonly deleted: number }> {
    if (this.failure) throw this.failure
    const before = this.ends.length
    this.ends = this.ends.filter((flow) => {
      const isOurs = addresses.has(flow.source) || addresses.has(flow.destination)
      return !isOurs || !isRefused(flow)
    })
    return { deleted: before - this.ends.length }
  }

  async cut(filters: readonly FlowFilter[]): Promise<{ readonly deleted: number }> {
    this.cuts.push(filters)
    const before = this.flows.length
    this.flows = this.flows.filter((flow) => !filters.some((filter) => isStale(flow, filter)))
    return { deleted: before - this.flows.length }
  }

  async count(filters: readonly FlowFilter[]): Promise<number> {
    return this.flows.filter((flow) => filters.some((filter) => isStale(flow, filter))).length
  }
}

function isStale(flow: FakeFlow, filter: FlowFilter): boolean {
  if (flow.family !== filter.family || flow.protocol !== filter.protocol) return false
  if (flow.port !== filter.port || filter.keep.has(flow.backend)) return false
  return filter.ip === 'node' || flow.ip === filter.ip
}
