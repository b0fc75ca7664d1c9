import { SERVICE_PORT, serviceAddress, TARGET_PORT } from '../lab/plan.ts'
import { connectTimes } from '../probe/connect.ts'
import type { FirstPacket } from '../report/results.ts'
import { quantile } from '../report/statistics.ts'
import type { Context } from './context.ts'

const WARM_UP = 50

/** Measures connect(2) directly to an endpoint, and through the first and the last Service. */
export function firstPacket(
  { topology, cluster }: Pick<Context, 'topology' | 'cluster'>,
  count: number,
): FirstPacket {
  const [endpoint = 0] = cluster.endpointsOf(0)
  const direct = { ip: endpoint, port: TARGET_PORT }
  const first = { ip: serviceAddress(0), port: SERVICE_PORT }
  const last = { ip: serviceAddress(cluster.size - 1), port: SERVICE_PORT }
  const time = (to: typeof direct) => {
    const times = connectTimes(topology, to, WARM_UP + count).slice(WARM_UP)
    return { p50: quantile(times, 0.5), p90: quantile(times, 0.9), connections: times.length }
  }
  return { direct: time(direct), first: time(first), last: time(last) }
}
