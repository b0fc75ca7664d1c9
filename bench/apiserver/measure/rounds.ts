import type { Requests } from '../../report/apiserver/results.ts'
import type { Throughput } from '../load/order.ts'
import { type Context, withCpu } from './context.ts'

/** The throughput of one round, and the server's processor time for one request. */
export type Round<T extends Throughput> = T & { readonly cpuMsEach: number }

export async function round<T extends Throughput>(
  context: Context,
  work: () => Promise<T>,
): Promise<Round<T>> {
  const [done, cpuMs] = await withCpu(context, work)
  return { ...done, cpuMsEach: cpuMs / done.requests }
}

/** The figures of all rounds. */
export function requestsOf(rounds: readonly Round<Throughput>[]): Requests {
  const all = (pick: (each: Round<Throughput>) => number) => rounds.map(pick)
  return {
    perSecond: all(({ perSecond }) => perSecond),
    p50: all(({ p50 }) => p50),
    p99: all(({ p99 }) => p99),
    bytes: rounds.at(-1)?.bytes ?? 0,
    cpuMsEach: all(({ cpuMsEach }) => cpuMsEach),
  }
}
