import { SERVICE_PORT, serviceAddress, TARGET_PORT } from '../../lab/plan.ts'
import type { Topology } from '../../lab/topology.ts'
import type { Counting, CountingTurn } from '../../report/nftables/results.ts'
import { median } from '../../report/statistics.ts'
import type { NftablesCellParts } from '../cell-parts.ts'
import { PingPong } from '../counting/ping-pong.ts'
import { emptyNode, startRunning } from '../running.ts'

/** Round trips of a byte in one sample, and samples of each connection in a turn. */
const COUNT = 200
const SAMPLES = 50

/**
 * Measures what the counters of Services cost each packet: alternates between a connection through a Service and one
 * without a Service, and between a node that counts and a node that does not.
 */
export async function counting(parts: NftablesCellParts, turns: number): Promise<Counting> {
  const result = { without: [] as CountingTurn[], with: [] as CountingTurn[] }
  for (let n = 0; n < turns; n++) {
    result.without.push(await turn(parts, false))
    result.with.push(await turn(parts, true))
  }
  return result
}

async function turn(parts: NftablesCellParts, trafficCounters: boolean): Promise<CountingTurn> {
  const settings = { nftables: { trafficCounters } }
  const running = await startRunning(parts, emptyNode(parts), { settings })
  try {
    const last = parts.cluster.size - 1
    const [endpoint = 0] = parts.cluster.endpointsOf(last)
    return compare(running.topology, endpoint, serviceAddress(last))
  } finally {
    await running.stop()
  }
}

function compare(topology: Topology, endpoint: number, service: number): CountingTurn {
  const direct = new PingPong(topology, { ip: endpoint, port: TARGET_PORT })
  const forwarded = new PingPong(topology, { ip: service, port: SERVICE_PORT })
  const us = { direct: [] as number[], forwarded: [] as number[] }
  for (let n = 0; n < SAMPLES; n++) {
    us.direct.push(direct.round(COUNT))
    us.forwarded.push(forwarded.round(COUNT))
  }
  direct.close()
  forwarded.close()
  return { direct: median(us.direct), forwarded: median(us.forwarded) }
}
