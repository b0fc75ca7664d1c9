import type { DroppedPackets } from '../../policy/nftables/enforcer.ts'
import type { PolicyContent } from '../../policy/policy-content.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'

/** The most rows of dropped packets; all further ones share one for each direction. */
const ROWS = 100

const UNKNOWN_POD = '(unknown pod)'

type PolicyGaugeMetrics = Pick<Metrics, 'policyObjects' | 'policyDropped'>

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
  readonly #rows: number
  /** What was read last, by family, direction and policies. */
  #read: ReadonlyMap<string, bigint> = new Map()
  readonly #shown = new Set<string>()

  constructor(metrics: PolicyGaugeMetrics, rows = ROWS) {
    this.#metrics = metrics
    this.#rows = rows
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
    const now = new Map<string, bigint>()
    const labels = new Map<string, { readonly policy: string; readonly direction: string }>()
    for (const { family, direction, policies, packets } of dropped) {
      const policy = policies.length === 0 ? UNKNOWN_POD : policies.join(',')
      const key = `${family} ${direction} ${policy}`
      now.set(key, (now.get(key) ?? 0n) + packets)
      labels.set(key, { policy, direction })
    }
    for (const [key, packets] of now) {
      const before = this.#read.get(key) ?? 0n
      const added = packets >= before ? packets - before : packets
      const of = labels.get(key)
      if (added > 0n && of) this.#metrics.policyDropped.inc(this.#rowOf(of), Number(added))
    }
    this.#read = now
  }

  #rowOf({ policy, direction }: { readonly policy: string; readonly direction: string }) {
    const row = `${direction} ${policy}`
    if (!this.#shown.has(row) && this.#shown.size >= this.#rows) return { policy: '', direction }
    this.#shown.add(row)
    return { policy, direction }
  }
}
