import type { List, Lists, Reads } from '../../report/apiserver/results.ts'
import type { Throughput } from '../load/order.ts'
import { objectName, SERVICES } from '../objects.ts'
import { startBareServer } from '../server/bare.ts'
import { watchDelay } from '../server/watch-delay.ts'
import { type Context, withCpu } from './context.ts'
import { type Round, requestsOf, round } from './rounds.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'

/** Gets one Service repeatedly, alternating with the bare server. */
export async function get(context: Context): Promise<Reads> {
  const { server, load, repeats } = context
  const order = { what: 'get', clients: repeats.clients, ms: repeats.roundMs } as const
  const done: Round<Throughput>[] = []
  const barePerSecond: number[] = []
  using bare = await startBareServer(server)
  for (let n = 0; n < repeats.rounds; n++) {
    const path = `${SERVICES}/${objectName(n)}`
    const latest = await round(context, () => load.request({ ...order, path, ...server.target }))
    done.push(latest)
    const same = await load.request({ ...order, path: `/${latest.bytes}`, ...bare.target })
    barePerSecond.push(same.perSecond)
  }
  return { ...requestsOf(done), barePerSecond }
}

/** Lists all Services as JSON, as compressed JSON, and as kubectl requests them. */
export async function lists(context: Context): Promise<Lists> {
  return {
    objects: context.repeats.objects,
    plain: await list(context, {}),
    gzip: await list(context, { 'accept-encoding': 'gzip' }),
    table: await list(context, { 'accept-encoding': 'gzip', accept: TABLE }),
  }
}

async function list(context: Context, headers: Readonly<Record<string, string>>): Promise<List> {
  const { server, load, repeats } = context
  const order = { what: 'list', headers, times: repeats.lists } as const
  const all = { ms: [], cpuMsEach: [], delayP99: [], delayLongest: [], bareMs: [] }
  const samples: Record<keyof typeof all, number[]> = all
  let bytes = 0
  using bare = await startBareServer(server)
  for (let n = 0; n < repeats.rounds; n++) {
    const work = () => load.request({ ...order, path: SERVICES, ...server.target })
    const [[done, delay], cpuMs] = await withCpu(context, () => watchDelay(server.probe, work))
    const same = await load.request({ ...order, path: `/${done.bytes}`, ...bare.target })
    bytes = done.bytes
    samples.ms.push(...done.ms)
    samples.cpuMsEach.push(cpuMs / repeats.lists)
    samples.delayP99.push(delay.p99)
    samples.delayLongest.push(delay.longest)
    samples.bareMs.push(...same.ms)
  }
  return { bytes, ...samples }
}
