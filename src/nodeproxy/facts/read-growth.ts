import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { CounterFacts, NodeFacts } from '../../doctor/evidence/node-facts.ts'
import type { RunCommand } from '../../explain/host/run-command.ts'
import type { InspectionClient } from '../../inspection/inspection-client.ts'
import { NodeProxyError } from '../../lib/error.ts'

/** Counters that were read twice; a difference is something that happens now. */
interface Growth {
  readonly counters: NodeFacts['counters']
  readonly before: Totals
  readonly after: Totals
}

/** Reads the counters of the kernel and of node-proxy, and once more after some seconds. */
export async function readGrowth(
  run: RunCommand,
  client: Pick<InspectionClient, 'traffic'>,
  seconds: number,
): Promise<Growth> {
  const [first, before] = await Promise.all([readCounters(run), readTotals(client)])
  await delay(seconds * 1_000)
  const [last, after] = await Promise.all([readCounters(run), readTotals(client)])
  const isCounted = first !== undefined && last !== undefined
  return {
    counters: isCounted ? { before: first, after: last, seconds } : undefined,
    before,
    after,
  }
}

type Table = ReadonlyMap<string, number>

/**
 * Counters of this network namespace since it was made: what connection tracking lost, and what rp_filter dropped.
 * Undefined: this kernel counts neither.
 */
async function readCounters(run: RunCommand): Promise<CounterFacts | undefined> {
  const netstat = extensions(await content('/proc/self/net/netstat'))
  const file = await content('/proc/self/net/stat/nf_conntrack')
  const conntrack = file === '' ? await byProgram(run) : perProcessor(file)
  if (conntrack.size === 0 && netstat.size === 0) return undefined
  return {
    drop: conntrack.get('drop') ?? 0,
    earlyDrop: conntrack.get('early_drop') ?? 0,
    insertFailed: conntrack.get('insert_failed') ?? 0,
    clashesResolved: conntrack.get('clashres') ?? conntrack.get('clash_resolve') ?? -1,
    reversePath: netstat.get('IPReversePathFilter') ?? 0,
  }
}

async function content(path: string): Promise<string> {
  return await readFile(path, 'latin1').catch(() => '')
}

/** Reads a line of names, then a line of hexadecimal numbers for each processor. */
function perProcessor(text: string): Table {
  const [names = [], ...rows] = linesOf(text).map((line) => line.trim().split(/\s+/))
  return sumOf(
    rows.flatMap((row) => names.map((name, at) => [name, parseInt(row[at] ?? '0', 16)] as const)),
  )
}

/** Reads `conntrack -S`: a line of `NAME=NUMBER` for each processor. Empty on a machine without that program. */
async function byProgram(run: RunCommand): Promise<Table> {
  const { status, stdout } = await run('conntrack', ['-S'])
  if (status !== 0) return new Map()
  const pairs = [...stdout.matchAll(/(\w+)=(\d+)/g)]
  return sumOf(pairs.map(([, name = '', value]) => [name, Number(value)] as const))
}

/** Pairs of lines: `TcpExt: NAME NAME`, `TcpExt: NUMBER NUMBER`. */
function extensions(text: string): Table {
  const [names = [], values = []] = linesOf(text)
    .filter((line) => line.startsWith('TcpExt: '))
    .map((line) => line.split(' '))
  return new Map(names.slice(1).map((name, at) => [name, Number(values[at + 1] ?? 0)]))
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '')
}

function sumOf(pairs: readonly (readonly [string, number])[]): Table {
  const sums = new Map<string, number>()
  for (const [name, value] of pairs) sums.set(name, (sums.get(name) ?? 0) + value)
  return sums
}

/** Service ports whose connections are compared, those with the most first. */
const MAX_LOADS = 100

/** Connections of backends so far, by entry. */
type Totals = ReadonlyMap<string, readonly BackendTotal[]>

interface BackendTotal {
  readonly ip: string
  readonly port: number
  readonly connections: number
  /** -1: not counted. */
  readonly connectionsNow: number
}

/** Service ports with several backends whose connections the mode counts. Empty when no node-proxy answers. */
export async function readTotals(client: Pick<InspectionClient, 'traffic'>): Promise<Totals> {
  const totals = new Map<string, BackendTotal[]>()
  try {
    for await (const { backends } of client.traffic('')) {
      for (const { entry, ip, port, traffic } of backends) {
        if (traffic?.connections === undefined) continue
        const now = traffic.connectionsNow === undefined ? -1 : Number(traffic.connectionsNow)
        const one = { ip, port, connections: Number(traffic.connections), connectionsNow: now }
        totals.getOrInsertComputed(entry, () => []).push(one)
      }
    }
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
  }
  return totals
}

/** The connections between two reads, so that backends of different age can be compared. */
export function loadsBetween(
  before: Totals,
  after: Totals,
  affinitySeconds: ReadonlyMap<string, number>,
): NodeFacts['loads'] {
  const loads = [...after].flatMap(([entry, backends]) => {
    if (backends.length < 2) return []
    const known = new Map(before.get(entry)?.map((one) => [`${one.ip} ${one.port}`, one]))
    const grown = backends.map((one) => ({
      ...one,
      connections: Math.max(
        0,
        one.connections - (known.get(`${one.ip} ${one.port}`)?.connections ?? one.connections),
      ),
    }))
    const service = entry.split(':')[0] ?? ''
    return [{ entry, service, affinitySeconds: affinitySeconds.get(entry) ?? 0, backends: grown }]
  })
  return loads.toSorted((a, b) => connectionsOf(b) - connectionsOf(a)).slice(0, MAX_LOADS)
}

function connectionsOf({ backends }: NodeFacts['loads'][number]): number {
  return backends.reduce((sum, { connections }) => sum + connections, 0)
}
