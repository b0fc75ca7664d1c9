import type { Iptables } from '../../kernel/iptables/iptables.ts'
import { noopMonitor } from '../../kernel/nftables/nftables-monitor.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { ChainKeeper } from './chains/chain-keeper.ts'
import { digestCount, digestRules, keyOf } from './chains/object.ts'
import { demandRemoved } from './chains/plan.ts'
import { DROP_MARTIANS } from './filter-rules.ts'

/** What route_localnet was before node-proxy: 0, or 1 because another program routes loopback. */
export type FoundRouting = 'closed' | 'open'

const PREFIX = 'NPGUARD-'

/** Whether node-proxy opened the routing of loopback, or found it open. */
const CHAIN: Readonly<Record<FoundRouting, string>> = {
  closed: `${PREFIX}OPENED`,
  open: `${PREFIX}FOUND`,
}

/**
 * The guard that protects 127.0.0.0/8 from neighbours: a chain of its own, first in filter INPUT. It belongs to no mode,
 * and stays when modes come and go. The name of the chain keeps the value of route_localnet from before node-proxy, so
 * both have the same lifetime: that of the network namespace.
 */
export class LoopbackGuard {
  readonly #chains: ChainKeeper

  constructor(iptables: Iptables) {
    this.#chains = new ChainKeeper({
      iptables,
      monitor: noopMonitor,
      prefix: PREFIX,
      tables: ['filter'],
      families: [4],
      contents: { rulesOf: () => [DROP_MARTIANS], jumpsIn: () => [] },
    })
  }

  /** The values of route_localnet that the existing guards keep, including an incomplete guard. */
  async found(): Promise<ReadonlySet<FoundRouting>> {
    const seen = await this.#chains.observe([
      ...objectsOf('closed').keys(),
      ...objectsOf('open').keys(),
    ])
    const exists = (found: FoundRouting) =>
      [...objectsOf(found).keys()].some((key) => seen.has(key))
    return new Set((['closed', 'open'] as const).filter(exists))
  }

  /** Writes the guard unless it is complete; throws NP_IPTABLES_REFUSED. */
  async write(found: FoundRouting): Promise<void> {
    const wanted = objectsOf(found)
    const seen = await this.#chains.observe([...wanted.keys()])
    const set = [...wanted].flatMap(([key, digest]) => (seen.get(key) === digest ? [] : [key]))
    const { failed } = await this.#chains.apply({ set, unset: [] })
    for (const [object, { code, message }] of failed) {
      throw new NodeProxyError(code, `${object} could not be written: ${message}`, { object })
    }
  }

  /** Removes the guards, or one of them. */
  async remove(which: readonly FoundRouting[] = ['closed', 'open']): Promise<void> {
    const keys = which.flatMap((found) => [...objectsOf(found).keys()])
    const seen = await this.#chains.observe(keys)
    const unset = keys.filter((key) => seen.has(key))
    const { failed } = await this.#chains.apply({ set: [], unset })
    demandRemoved(failed)
  }
}

function objectsOf(found: FoundRouting): ReadonlyMap<ObjectKey, Digest> {
  const place = { family: 4, table: 'filter' } as const
  const jump = { kind: 'jump', ...place, chain: 'INPUT', rule: `-j ${CHAIN[found]}` } as const
  return new Map([
    [keyOf({ kind: 'chain', ...place, chain: CHAIN[found] }), digestRules([DROP_MARTIANS])],
    [keyOf(jump), digestCount(1)],
  ])
}
