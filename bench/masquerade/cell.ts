import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { writeSysctls } from '../lab/namespace.ts'
import { buildTopology, type Topology } from '../lab/topology.ts'
import type { Load, MasqueradeCell } from '../report/masquerade/results.ts'
import { addClients, type Client, clientsOf, nodePortOf } from './addresses.ts'
import { grownBy, readCounters } from './counters.ts'
import type { LoadOrder, LoadReport } from './load-main.ts'
import type { Subject } from './subject.ts'
import { SynTrace } from './trace.ts'

type Measured = Omit<MasqueradeCell, 'kernel'>

const SERVER = new URL('./backend-main.ts', import.meta.url).pathname
const LOAD = new URL('./load-main.ts', import.meta.url).pathname
const TIMEOUT_MS = 20_000
const TRIES = 30

/** Timeouts as on a real node; those of the bench's topology are shorter. */
const USUAL = {
  'net/netfilter/nf_conntrack_tcp_timeout_syn_sent': 120,
  'net/netfilter/nf_conntrack_tcp_timeout_close': 10,
} as const

/** Raises the limit, because a kernel with little memory discards TIME_WAITs beyond a few thousand. */
const MANY_TIME_WAITS = { 'net/ipv4/tcp_max_tw_buckets': 262_144 } as const

/**
 * Measures one load after the other through one subject, in the lab of this process. Each load has a Service, endpoints
 * and clients of its own, so that it meets no TIME_WAIT and no tracked connection of earlier loads.
 */
export async function measure(
  { loads, folder }: { readonly loads: readonly Load[]; readonly folder: string },
  subject: Subject,
  onCell: (cell: Measured) => void,
): Promise<void> {
  const topology = buildTopology(0)
  try {
    writeSysctls(topology.node, USUAL)
    writeSysctls(topology.backends, MANY_TIME_WAITS)
    const clients = loads.map((load, n) => clientsOf(n, load.clients))
    addClients(topology, clients.flat())
    const stop = await subject.start(topology, { loads: loads.length, folder })
    const server = start(topology.backends, [SERVER])
    await once(server.stdout, 'data')
    for (const [n, load] of loads.entries()) {
      const mine = { clients: clients[n] ?? [], port: nodePortOf(n) }
      await isServed(topology, mine)
      onCell(await measureLoad(topology, { ...load, ...mine, timeoutMs: TIMEOUT_MS }, subject))
    }
    await stop()
  } finally {
    topology.remove()
  }
}

async function measureLoad(
  topology: Topology,
  order: LoadOrder,
  { name, connectsItself = false }: Subject,
): Promise<Measured> {
  const { client, backends, node } = topology
  const sender = connectsItself
    ? { namespace: node, device: 'backends' }
    : { namespace: client, device: 'eth0' }
  const before = readCounters(topology, sender.namespace)
  const trace = new SynTrace(sender, { namespace: backends, device: 'eth0' })
  const report = await connectAll(topology, order)
  const grown = grownBy(before, readCounters(topology, sender.namespace))
  const unreadPackets = trace.close()
  const { causes, ports } = trace.record
  const { perSecond, binds, seconds } = order
  const load: Load = { perSecond, clients: order.clients.length, binds, seconds }
  return { subject: name, ...load, ...report, ...grown, ports, causes, unreadPackets }
}

/** Waits until a connection succeeds, for proxies that do not report when they are ready. */
async function isServed(
  topology: Topology,
  { clients, port }: { readonly clients: readonly Client[]; readonly port: number },
): Promise<void> {
  const one = { clients: clients.slice(0, 1), port, perSecond: 1, seconds: 1, binds: false }
  const order: LoadOrder = { ...one, timeoutMs: 2_000 }
  for (let tries = 0; tries < TRIES; tries++) {
    const { failures } = await connectAll(topology, order)
    if (failures === 0) return
    await delay(1_000)
  }
  throw new Error('the node port is not served')
}

async function connectAll({ client }: Topology, order: LoadOrder): Promise<LoadReport> {
  const report = await text(start(client, [LOAD, JSON.stringify(order)]).stdout)
  return JSON.parse(report) as LoadReport
}

function start(namespace: string, args: readonly string[]) {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', ...args]
  return spawn('ip', ['netns', 'exec', namespace, ...node], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
