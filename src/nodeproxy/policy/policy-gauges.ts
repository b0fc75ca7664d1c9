import type { Direction } from '../../networkpolicy/network-policy.ts'
import type { DroppedPackets } from '../../policy/nftables/enforcer.ts'
import type { PolicyContent } from '../../policy/policy-content.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'

/** How many policies and directions have their own row of `policyDropped`; all others share one row for each direction. */
const MAX_ROWS = 100

const UNKNOWN_POD = '(unknown pod)'

type PolicyGaugeMetrics = Pick<Metrics, 'policyObjects' | 'policyDropped'>

/** What is enforced, as numbers. The names are those of label `kind` of `policyObjects`. */
export interface PolicyCounts {
  readonly set: number
  readonly policy_chain: number
  readonly pod_chain: number
  readonly policy: number
  readonly isolated_address: number
}

/** Counts what a node enforces. */
export function countPolicies(content: PolicyContent): PolicyCounts {
  const { sets, policyChains, tierChains, denyChains, podChains, pods } = content
  const isolated = new Set(
    [...pods.ingress, ...pods.egress].flatMap(([ip, verdict]) =>
      verdict === 'accept' ? [] : [ip],
    ),
  )
  return {
    set: sets.size,
    policy_chain: policyChains.size + tierChains.size + denyChains.size,
    pod_chain: podChains.size,
    policy: new Set([
      ...policyChains.values().map(({ policy }) => policy),
      ...tierChains.values().flatMap(({ policies }) => policies),
    ]).size,
    isolated_address: isolated.size,
  }
}

/**
 * Publishes what is enforced, and how many packets were dropped. The kernel's counters begin at 0 when a rule is written
 * again, and vanish with it; the metric only rises.
 */
export class PolicyGauges {
  readonly #metrics: PolicyGaugeMetrics
  readonly #maxRows: number
  /** The kernel's counters as they were read last, by family and chain. */
  #lastRead: ReadonlyMap<string, bigint> = new Map()
  /** The policies and directions that have their own row. */
  readonly #ownRows = new Set<string>()

  constructor(metrics: PolicyGaugeMetrics, maxRows = MAX_ROWS) {
    this.#metrics = metrics
    this.#maxRows = maxRows
  }

  /** `counts` undefined: nothing is enforced. */
  showCounts(counts: PolicyCounts | undefined): void {
    this.#metrics.policyObjects.reset()
    const all: Readonly<Record<string, number>> = { ...counts }
    for (const [kind, count] of Object.entries(all)) {
      this.#metrics.policyObjects.set({ kind }, count)
    }
  }

  /** Adds what was dropped since the last call. */
  addDropped(dropped: readonly DroppedPackets[]): void {
    const read = new Map<string, bigint>()
    for (const { family, chain, direction, policies, packets } of dropped) {
      const key = `${family} ${chain}`
      read.set(key, packets)
      const before = this.#lastRead.get(key) ?? 0n
      const added = packets >= before ? packets - before : packets
      if (added === 0n) continue
      const policy = policies.length === 0 ? UNKNOWN_POD : policies.join(',')
      this.#metrics.policyDropped.inc(this.#takeRow(policy, direction), Number(added))
    }
    this.#lastRead = read
  }

  /** The labels of the row in which the policy is counted: its own while there are fewer than `maxRows`. */
  #takeRow(policy: string, direction: Direction) {
    const row = `${direction} ${policy}`
    if (this.#ownRows.size < this.#maxRows) this.#ownRows.add(row)
    return { policy: this.#ownRows.has(row) ? policy : '', direction }
  }
}
