import { execFileSync } from 'node:child_process'
import { startDaemon } from '../daemon/daemon.ts'
import { enterLab } from '../lab/enter-lab.ts'
import { writeSysctls } from '../lab/namespace.ts'
import { SERVICE_PORT, serviceAddress, TARGET_PORT } from '../lab/plan.ts'
import { buildTopology, type Topology } from '../lab/topology.ts'
import { connectTimes } from '../probe/connect.ts'
import { median, quantile, ratios } from '../report/statistics.ts'
import { seededCluster } from '../seeded-cluster.ts'

/**
 * Measures what counting costs a connection in nftables mode: connections through a Service, alternately with and
 * without the rules that count them, in the table that a daemon has written. Connections without a Service show the
 * noise of the machine.
 *
 *     scripts/node bench/traffic/connect.ts SERVICES ENDPOINTS TURNS
 */
const BOUND_MS = 180_000
/** The number of connections in one sample. */
const CONNECTIONS = 200
const MAX_FAILURES = 30
const TABLE = ['ip', 'node-proxy'] as const

const [services, endpoints, turns] = process.argv.slice(2).map(Number)
const folder = enterLab()
const cluster = await seededCluster(Number(services), Number(endpoints))
const topology = buildTopology(0)
// A client port is reused after 28,000 connections, and until then the kernel must have forgotten the earlier one.
writeSysctls(topology.node, { 'net/netfilter/nf_conntrack_tcp_timeout_close': 1 })
const options = { namespace: topology.node, url: cluster.url, proxy: 'nftables', folder } as const
const daemon = startDaemon(options)
const isReady = await daemon.untilReady(BOUND_MS)
await daemon.stop()
await cluster.stop()
if (!isReady) throw new Error('not ready in time')
process.stdout.write(`${JSON.stringify(measure(topology))}\n`)
topology.remove()

function measure(given: Topology) {
  const last = cluster.size - 1
  const service = { ip: serviceAddress(last), port: SERVICE_PORT }
  const [endpoint = 0] = cluster.endpointsOf(last)
  const direct = { ip: endpoint, port: TARGET_PORT }
  const us = { without: [] as number[], with: [] as number[], direct: [] as number[] }
  const count = switchOf(given)
  let failures = 0
  /** One sample; repeated if a packet was lost, as may happen on a busy machine. */
  const sample = (to: typeof service): number => {
    try {
      return median(connectTimes(given, to, CONNECTIONS))
    } catch (error) {
      if (++failures > MAX_FAILURES) throw error
      return sample(to)
    }
  }
  for (let turn = 0; turn < Number(turns); turn++) {
    // The second one profits from warm caches, so they alternate in order.
    for (const counts of turn % 2 === 0 ? [false, true] : [true, false]) {
      count(counts)
      us[counts ? 'with' : 'without'].push(sample(service))
    }
    us.direct.push(sample(direct))
  }
  return {
    services: cluster.size,
    endpoints,
    connections: CONNECTIONS,
    failures,
    withoutUs: quartiles(us.without, 2),
    withUs: quartiles(us.with, 2),
    directUs: quartiles(us.direct, 2),
    ratio: quartiles(ratios(us.with, us.without), 3),
  }
}

/** `median (first quartile–third quartile)`; the extremes of many short turns come from the machine. */
function quartiles(samples: readonly number[], digits: number): string {
  const [first, third] = [0.25, 0.75].map((q) => quantile(samples, q).toFixed(digits))
  return `${median(samples).toFixed(digits)} (${first}–${third})`
}

/** Adds a copy of the counting chain without its counters. @returns a function that selects one of the two chains */
function switchOf({ node }: Topology): (counts: boolean) => void {
  const nft = (...words: string[]) =>
    execFileSync('ip', ['netns', 'exec', node, 'nft', ...words], { encoding: 'utf8' })
  const linesOf = (chain: string) => nft('-a', 'list', 'chain', ...TABLE, chain).split('\n')
  nft('add', 'chain', ...TABLE, 'uncounted')
  for (const line of linesOf('translated')) {
    const [rule, handle] = line.split(' # handle ')
    if (rule === undefined || handle === undefined || rule.endsWith('{')) continue
    if (!rule.includes('@connections')) nft('add', 'rule', ...TABLE, 'uncounted', rule.trim())
  }
  const first = linesOf('postrouting').find((line) => line.includes('jump translated'))
  const [, handle = ''] = first?.split(' # handle ') ?? []
  return (counts) => {
    const rule = `ct status dnat jump ${counts ? 'translated' : 'uncounted'}`
    nft('replace', 'rule', ...TABLE, 'postrouting', 'handle', handle, rule)
  }
}
