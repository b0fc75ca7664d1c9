import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { openInspection } from '../../src/inspection/inspection-client.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type Proxy, startDaemon } from '../daemon/daemon.ts'
import { cpuSeconds } from '../daemon/process-tree.ts'
import { enterLab } from '../lab/enter-lab.ts'
import { CONTROL, METRICS_PORT } from '../lab/plan.ts'
import { buildTopology } from '../lab/topology.ts'
import { target } from '../measure/context.ts'
import { Prober } from '../probe/prober.ts'
import { ratios, spread } from '../report/statistics.ts'
import { seededCluster } from '../seeded-cluster.ts'

/**
 * Measures what reading the traffic counters costs: a scrape that reads them, compared with the next one, which comes
 * so soon that it shows the same reading; and one call of the inspection service for all backends.
 *
 *     scripts/node bench/traffic/main.ts SERVICES ENDPOINTS PROXY…      PROXY: nft, legacy, nftables, ipvs
 */
const ROUNDS = 5
const BOUND_MS = 180_000
/** The number of Services that get a connection. */
const BUSY_SERVICES = 1_000
/** Milliseconds for which a scrape shows the same reading; see `wiring/traffic/traffic-counters.ts`. */
const KEPT_MS = 1_100
const KEPT_SHARE = 100
const SLOW_MS = 250

const [services, endpoints, ...proxies] = process.argv.slice(2)
const folder = enterLab()
const cluster = await seededCluster(Number(services), Number(endpoints))
for (const [serial, proxy] of proxies.entries()) {
  const row = await measure(cluster, proxy as Proxy, serial)
  process.stdout.write(`${JSON.stringify({ proxy, services: cluster.size, endpoints, ...row })}\n`)
}
await cluster.stop()

async function measure(given: Cluster, proxy: Proxy, serial: number) {
  const topology = buildTopology(serial)
  const prober = new Prober(topology)
  const socket = join(folder, `${proxy}.sock`)
  const daemon = startDaemon({
    namespace: topology.node,
    url: given.url,
    proxy,
    folder,
    settings: { inspection: { socket }, nftables: { trafficCounters: true } },
  })
  try {
    if (!(await daemon.untilReady(BOUND_MS))) throw new Error('not ready in time')
    await makeTraffic(given, prober)
    const scrapes = await scrapeInTurns()
    return { ...scrapes, ...(await listAll(socket, daemon.pid)) }
  } finally {
    await daemon.stop()
    prober.close()
    topology.remove()
  }
}

/** Makes connections, because a rule that has counted nothing is cheaper to read. */
async function makeTraffic(given: Cluster, prober: Prober): Promise<void> {
  const count = Math.min(BUSY_SERVICES, given.size)
  for (let n = 0; n < count; n++) {
    const targets = [target(n, ...given.endpointsOf(n))]
    await prober.met(targets, { timeoutMs: 5_000, packets: 2, intervalMs: 1 })
  }
}

/** Milliseconds of a scrape that reads the counters, and of one that does not, alternately. */
async function scrapeInTurns() {
  const [reading, sharing]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    const lastMs = (reading.at(-1) ?? 0) - (sharing.at(-1) ?? 0)
    await delay(KEPT_MS + KEPT_SHARE * Math.min(SLOW_MS, Math.max(0, lastMs)))
    reading.push(await scrape())
    sharing.push(await scrape())
  }
  return {
    readingMs: spread(reading, 0),
    sharingMs: spread(sharing, 0),
    ratio: spread(ratios(reading, sharing), 2),
  }
}

async function scrape(): Promise<number> {
  const startedAt = performance.now()
  const { body } = await request(`http://${CONTROL.node}:${METRICS_PORT}/metrics`, { reset: true })
  await body.dump()
  return performance.now() - startedAt
}

/** Lists all Services with their backends, as `node-proxy traffic` does. */
async function listAll(socket: string, pid: number) {
  const client = openInspection(socket)
  const [times, cpu]: [number[], number[]] = [[], []]
  let backends = 0
  for (let round = 0; round < ROUNDS; round++) {
    await delay(KEPT_MS)
    const [startedAt, before] = [performance.now(), cpuSeconds(pid)]
    backends = 0
    for await (const one of client.traffic('')) backends += one.backends.length
    times.push(performance.now() - startedAt)
    cpu.push((cpuSeconds(pid) - before) * 1_000)
  }
  client.close()
  return { listMs: spread(times, 0), listCpuMs: spread(cpu, 0), backends }
}
