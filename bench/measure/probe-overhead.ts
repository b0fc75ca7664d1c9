import type { ProbeOverhead } from '../report/results.ts'
import { type Context, PACKETS, target } from './context.ts'

const DURATION_MS = 1_000
const NO_BACKEND = 0

/** Probes a Service as often as during a change, while nothing changes. */
export async function probeOverhead({ prober }: Context): Promise<ProbeOverhead> {
  const options = { packets: PACKETS, timeoutMs: DURATION_MS }
  const before = prober.cost
  const startedAt = performance.now()
  await prober.met([target(0, NO_BACKEND)], options)
  const { rounds, packets, busyMs } = prober.cost
  return {
    microsecondsPerPacket: ((busyMs - before.busyMs) * 1_000) / (packets - before.packets),
    roundPeriodMs: (performance.now() - startedAt) / (rounds - before.rounds),
    packetsPerRound: PACKETS,
  }
}
