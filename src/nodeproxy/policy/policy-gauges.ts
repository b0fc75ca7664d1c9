import type { DroppedPackets } from '../../policy/nftables/enforcer.ts'
import type { PolicyContent } from '../../policy/policy-content.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'

/** The most rows of dropped packets; all further ones share one for each direction. */
const MAX_ROWS = 100

const UNKNOWN_POD = '(unknown pod)'

type PolicyGaugeMetrics = Pick<Metrics, 'policyObjects' | 'policyDropped'>

/** The packets that the rules of a policy have dropped in one direction. */
interface DroppedBy {
  readonly policy: string
  readonly direction: string
  readonly packets: bigint
}

/** What is enforced, as numbers. */
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
    [...pods.ingress, ...pods.egress].flatMap(([ip, to]) => (to === 'accept' ? [] : [ip])),
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
 * Publishes what is enforced, and sums up what rules dropped: the kernel's counters begin anew when a rule is written
 * again, and vanish with it.
 */
export class PolicyGauges {
  readonly #metrics: PolicyGaugeMetrics
  readonly #maxRows: number
  /** What was read last, by family, direction and policy. */
  #read: ReadonlyMap<string, DroppedBy> = new Map()
  readonly #shown = new Set<string>()

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
    const now = new Map<string, DroppedBy>()
    for (const { family, direction, policies, packets } of dropped) {
      const policy = policies.length === 0 ? UNKNOWN_POD : policies.join(',')
      const key = `${family} ${direction} ${policy}`
      const sum = (now.get(key)?.packets ?? 0n) + packets
      now.set(key, { policy, direction, packets: sum })
    }
    for (const [key, one] of now) {
      const before = this.#read.get(key)?.packets ?? 0n
      const added = one.packets >= before ? one.packets - before : one.packets
      if (added > 0n) this.#metrics.policyDropped.inc(this.#rowOf(one), Number(added))
    }
    this.#read = now
  }

  #rowOf({ policy, direction }: DroppedBy) {
    const row = `${direction} ${policy}`
    if (!this.#shown.has(row) && this.#shown.size >= this.#maxRows) return { policy: '', direction }
    this.#shown.add(row)
    return { policy, direction }
  }
}
