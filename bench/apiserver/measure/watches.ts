import type { FanOut, Patches } from '../../report/apiserver/results.ts'
import type { LoadReports } from '../load/order.ts'
import { startBareServer } from '../server/bare.ts'
import type { MeasuredServer } from '../server/server.ts'
import type { Context } from './context.ts'
import { type Round, requestsOf, round } from './rounds.ts'

/** Measures patches as fast as they are answered, with one watcher. */
export async function patches(context: Context): Promise<Patches> {
  const { server, load, repeats } = context
  const { clients, roundMs: ms, objects: services } = repeats
  const order = { what: 'patch', services, clients, ms, ...server.target } as const
  const done: Round<LoadReports['patch']>[] = []
  for (let n = 0; n < repeats.rounds; n++) {
    done.push(await round(context, () => load.request(order)))
  }
  return {
    ...requestsOf(done),
    watchP50: done.map(({ watch }) => watch.p50),
    watchP99: done.map(({ watch }) => watch.p99),
  }
}

/** Measures single patches with few and with many watchers. */
export async function fanOuts(context: Context): Promise<readonly FanOut[]> {
  const all: FanOut[] = []
  for (const watchers of context.repeats.watchers) all.push(await fanOut(context, watchers))
  return all
}

async function fanOut(context: Context, watchers: number): Promise<FanOut> {
  const { server, repeats } = context
  const ours = await seenBy(context, server, watchers)
  using bare = await startBareServer(server)
  const theirs = await seenBy(context, bare, watchers)
  return {
    watchers,
    writes: repeats.writes,
    ...ours,
    bareP50: theirs.p50,
    bareP99: theirs.p99,
    bareCpuMsEach: theirs.cpuMsEach,
  }
}

/** Sends one order for each round, so that the processor time does not include opening the watches. */
async function seenBy(
  { load, repeats }: Context,
  { target, cpuSeconds }: Pick<MeasuredServer, 'target' | 'cpuSeconds'>,
  watchers: number,
): Promise<Pick<FanOut, 'p50' | 'p99' | 'cpuMsEach'>> {
  const { writes, restMs, rounds } = repeats
  await load.request({ what: 'hold', watchers, ...target })
  const done: LoadReports['fanOut'][] = []
  const cpuMsEach: number[] = []
  for (let n = 0; n < rounds; n++) {
    const before = cpuSeconds()
    done.push(await load.request({ what: 'fanOut', writes, restMs, ...target }))
    cpuMsEach.push(((cpuSeconds() - before) * 1_000) / writes)
  }
  await load.request({ what: 'hold', watchers: 0, ...target })
  return { p50: done.map(({ p50 }) => p50), p99: done.map(({ p99 }) => p99), cpuMsEach }
}
