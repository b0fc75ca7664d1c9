import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { inside, writeSysctls } from '../lab/namespace.ts'
import { buildTopology, type Topology } from '../lab/topology.ts'
import { addClients, clientsOf } from './addresses.ts'
import type { LoadOrder, LoadReport } from './load-main.ts'
import type { Subject } from './subject.ts'

/** One figure: how many clients connect how often, and whether they bind before. */
export interface Load extends Omit<LoadOrder, 'clients'> {
  readonly clients: number
}

/** What became of the connections, and what the kernel counted. */
export interface Cell extends LoadReport {
  /** Of the clients. */
  readonly repeatedSyns: number
  /** Packets that met the TIME_WAIT of another connection at an endpoint, with a time stamp older than that one's. */
  readonly rejectedByTimeWait: number
  /** First packets that were dropped since connection tracking had their addresses and ports already. */
  readonly insertFailed: number
}

const SERVER = new URL('./backend-main.ts', import.meta.url).pathname
const LOAD = new URL('./load-main.ts', import.meta.url).pathname

/** As in a node: the bench's own topology forgets sooner. */
const USUAL = {
  'net/netfilter/nf_conntrack_tcp_timeout_syn_sent': 120,
  'net/netfilter/nf_conntrack_tcp_timeout_close': 10,
} as const

/** Measures in a topology of its own, so that no socket and no tracked connection is left of another figure. */
export async function measure(
  serial: number,
  { clients: count, ...rest }: Load,
  subject: Subject,
): Promise<Cell> {
  const topology = buildTopology(serial)
  try {
    const clients = clientsOf(count)
    writeSysctls(topology.node, USUAL)
    addClients(topology, clients)
    const stop = await subject.start(topology)
    const server = start(topology.backends, [SERVER])
    await once(server.stdout, 'data')
    await isServed(topology, clients)
    const before = countersOf(topology)
    const report = await load(topology, { ...rest, clients })
    const after = countersOf(topology)
    await stop()
    const grown = (name: keyof typeof after) => after[name] - before[name]
    const repeatedSyns = grown('repeatedSyns')
    return {
      ...report,
      // Where the load generator was late, connections look slow that did not wait.
      waits: Math.min(report.waits, repeatedSyns),
      repeatedSyns,
      rejectedByTimeWait: grown('rejectedByTimeWait'),
      insertFailed: grown('insertFailed'),
    }
  } finally {
    topology.remove()
  }
}

/** A proxy that does not report when it is ready is ready when a connection succeeds. */
async function isServed(topology: Topology, clients: LoadOrder['clients']): Promise<void> {
  const order: LoadOrder = { clients: clients.slice(0, 1), perSecond: 1, seconds: 1, binds: false }
  for (let tries = 0; tries < 30; tries++) {
    const { failures } = await load(topology, order)
    if (failures === 0) return
    await delay(1_000)
  }
  throw new Error('the node port is not served')
}

async function load({ client }: Topology, order: LoadOrder): Promise<LoadReport> {
  const report = await text(start(client, [LOAD, JSON.stringify(order)]).stdout)
  return JSON.parse(report) as LoadReport
}

function start(namespace: string, args: readonly string[]) {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', ...args]
  return spawn('ip', ['netns', 'exec', namespace, ...node], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function countersOf({ client, backends, node }: Topology) {
  const netstat = (name: string) =>
    inside(name, () => readFileSync('/proc/thread-self/net/netstat', 'utf8'))
  const timeWait = netstat(backends)
  return {
    repeatedSyns: tcpCounter(netstat(client), 'TCPSynRetrans'),
    // Kernels before 6.16 count both in one.
    rejectedByTimeWait: tcpCounter(timeWait, 'PAWSTimewait') || tcpCounter(timeWait, 'PAWSEstab'),
    insertFailed: insertFailures(
      inside(node, () => readFileSync('/proc/thread-self/net/stat/nf_conntrack', 'utf8')),
    ),
  }
}

/** Of `/proc/net/netstat`: two lines, names and values. */
function tcpCounter(netstat: string, name: string): number {
  const [names, values] = netstat.split('\n').filter((line) => line.startsWith('TcpExt:'))
  const column = names?.split(' ').indexOf(name) ?? -1
  return column < 0 ? 0 : Number(values?.split(' ')[column])
}

/** Of `/proc/net/stat/nf_conntrack`: a line of names, then one of hexadecimal numbers for each processor. */
function insertFailures(stat: string): number {
  const [names = '', ...processors] = stat.trim().split('\n')
  const column = names.trim().split(/\s+/).indexOf('insert_failed')
  return processors.reduce(
    (sum, line) => sum + Number.parseInt(line.trim().split(/\s+/)[column] ?? '0', 16),
    0,
  )
}
