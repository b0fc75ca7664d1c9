import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { CounterFacts, NodeFacts } from '../../doctor/evidence/node-facts.ts'
import type { RunCommand } from '../../explain/host/run-command.ts'
import type { InspectionClient } from '../../inspection/inspection-client.ts'
import { readTotals, type Totals } from './read-loads.ts'

/** Counters that were read twice; a difference is something that happens now. */
export interface Growth {
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
