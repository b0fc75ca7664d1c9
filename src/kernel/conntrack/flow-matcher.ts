import type { FlowFilter } from './conntrack.ts'
import { backendOf, type Flow, isMasqueraded, isRewritten, isSentTo, PROTOCOLS } from './flow.ts'

/** Decides which flows of one family to delete. */
export class FlowMatcher {
  readonly #filters = new Map<number, FlowFilter[]>()
  readonly #ports = new Set<number>()

  constructor(filters: readonly FlowFilter[]) {
    for (const filter of filters) {
      this.#ports.add(filter.port)
      const key = keyOf(PROTOCOLS[filter.protocol], filter.port)
      const same = this.#filters.get(key)
      if (same === undefined) this.#filters.set(key, [filter])
      else same.push(filter)
    }
  }

  /** Whether any flow to this port may match: the cheap question. */
  concerns(port: number): boolean {
    return this.#ports.has(port)
  }

  matches(flow: Flow): boolean {
    const { protocol, destinationPort } = flow.original
    const filters = this.#filters.get(keyOf(protocol, destinationPort))
    return filters?.some((filter) => isStale(flow, filter)) ?? false
  }
}

function isStale(flow: Flow, filter: FlowFilter): boolean {
  const meant = filter.ip === 'node' ? !isForeignMasquerade(flow) : isSentTo(flow, filter.ip)
  const isOurs = filter.ownPorts?.has(flow.reply.sourcePort) ?? false
  return meant && !isOurs && !filter.keep.has(backendOf(flow))
}

/** Masqueraded on its way through this node by other rules: it would lose its port. */
function isForeignMasquerade(flow: Flow): boolean {
  return !isRewritten(flow) && isMasqueraded(flow)
}

function keyOf(protocol: number, port: number): number {
  return protocol * 65_536 + port
}
