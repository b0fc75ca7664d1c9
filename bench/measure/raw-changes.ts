import { setTimeout as delay } from 'node:timers/promises'
import { TARGET_PORT, toText } from '../lab/plan.ts'
import type { Prober, Target } from '../probe/prober.ts'
import type { RawKernel } from '../raw/raw-kernel.ts'
import { commitText } from '../raw/restore-text.ts'
import { chainOfEndpoint, type SavedChain, type SavedRules } from '../raw/saved-rules.ts'
import type { RawChanges } from '../report/results.ts'
import { CHANGE_TIMEOUT_MS, type Context, PACKETS, pick, target } from './context.ts'

/**
 * Makes the same changes with iptables-restore alone, on the rules that the daemon has left, observed by the same
 * prober: the lower bound for every daemon that uses iptables.
 */
export async function rawReplace(parts: RawParts, count: number): Promise<RawChanges> {
  return timeRaw(parts, count, (n) => [change(parts, pick(parts.context.cluster, n), 1)])
}

/** Replaces all endpoints of many Services in one commit. */
export async function rawBurst(parts: RawParts, changes: number, count: number) {
  const { cluster } = parts.context
  return timeRaw(parts, count, () =>
    Array.from({ length: Math.min(changes, cluster.size) }, (_, n) =>
      change(parts, pick(cluster, n), cluster.endpointsOf(pick(cluster, n)).length),
    ),
  )
}

export interface RawParts {
  readonly context: Pick<Context, 'cluster' | 'prober' | 'freshAddress'>
  readonly raw: RawKernel
  /** The rules in the kernel; updated with each replaced endpoint. */
  readonly chains: Map<number, SavedChain>
  readonly saved: SavedRules
}

interface RawChange {
  readonly chain: SavedChain
  readonly target: Target
}

async function timeRaw(
  parts: RawParts,
  count: number,
  changesOf: (n: number) => readonly RawChange[],
): Promise<RawChanges> {
  const ms: number[] = []
  const exitMs: number[] = []
  const cpuBefore = parts.raw.cpuSeconds()
  for (let n = 0; n < count; n++) {
    const changes = changesOf(n)
    const restore = parts.raw.prepare(
      4,
      commitText(
        'nat',
        changes.map(({ chain }) => chain),
      ),
    )
    const took = await timeRestore(
      parts.context.prober,
      changes.map((each) => each.target),
      restore,
    )
    ms.push(took.ms)
    exitMs.push(took.exitMs)
    await delay(20)
  }
  return { ms, exitMs, cpuSecondsEach: (parts.raw.cpuSeconds() - cpuBefore) / count }
}

async function timeRestore(
  prober: Prober,
  targets: readonly Target[],
  restore: () => Promise<void>,
): Promise<{ readonly ms: number; readonly exitMs: number }> {
  const startedAt = performance.now()
  const ended = restore().then(() => performance.now() - startedAt)
  const packets = targets.length === 1 ? PACKETS : 1
  const metAt = await prober.met(targets, { timeoutMs: CHANGE_TIMEOUT_MS, packets })
  const exitMs = await ended
  if (metAt === undefined) throw new Error('a change by hand is not visible')
  return { ms: metAt - startedAt, exitMs }
}

/** The Service's chain with its first `count` endpoints replaced. */
function change({ context, chains, saved }: RawParts, service: number, count: number): RawChange {
  const [known = 0] = context.cluster.endpointsOf(service)
  let chain = chains.get(service) ?? chainOfEndpoint(saved, `${toText(known)}:${TARGET_PORT}`)
  const fresh: number[] = []
  const rules = chain.rules.map((rule) => {
    if (fresh.length === count || !rule.includes('--to-destination ')) return rule
    const address = context.freshAddress()
    fresh.push(address)
    return rule.replace(/--to-destination [\d.]+/, `--to-destination ${toText(address)}`)
  })
  chain = { ...chain, rules }
  chains.set(service, chain)
  return { chain, target: target(service, ...fresh) }
}
