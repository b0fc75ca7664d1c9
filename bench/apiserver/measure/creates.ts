import { join } from 'node:path'
import type { Creates } from '../../report/apiserver/results.ts'
import { flushesPerSecond } from '../../store/baseline.ts'
import { createsPerSecond } from '../../store/writers.ts'
import type { Throughput } from '../load/order.ts'
import { openBareStore } from '../server/bare-store.ts'
import type { Context } from './context.ts'
import { type Round, requestsOf, round } from './rounds.ts'

/** Fills the store round by round, and after each round measures the disk alone and the store alone. */
export async function creates(context: Context, kind: 'services' | 'endpoints'): Promise<Creates> {
  const { server, load, repeats, folder } = context
  const { clients, roundMs } = repeats
  const count = Math.ceil(repeats.objects / repeats.rounds)
  const done: Round<Throughput>[] = []
  const flushes: number[] = []
  const stored: number[] = []
  await using store = await openBareStore(context)
  for (let from = 0; from < repeats.objects; from += count) {
    const order = { what: 'create', kind, from, count, clients, ...server.target } as const
    const latest = await round(context, () => load.request(order))
    done.push(latest)
    flushes.push(flushesPerSecond(join(folder, 'flushed'), roundMs / 2, latest.bytes))
    const value = Buffer.alloc(latest.bytes, 'x')
    stored.push(await createsPerSecond(store, clients, roundMs / 2, value))
  }
  return { ...requestsOf(done), flushesPerSecond: flushes, storePerSecond: stored }
}
