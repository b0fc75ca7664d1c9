import { readFileSync } from 'node:fs'
import { inside } from '../lab/namespace.ts'
import type { Topology } from '../lab/topology.ts'

/** What the kernel has counted so far. */
export interface Counters {
  readonly repeatedSyns: number
  readonly rejectedByTimeWait: number
  readonly insertFailed: number
  readonly listenDrops: number
  readonly skippedAnswers: number
  readonly discardedTimeWaits: number
}

/** Reads the counters of the side that connects to the endpoints, of the endpoints, and of the node. */
export function readCounters({ backends, node }: Topology, sender: string): Counters {
  const endpoints = netstatOf(backends)
  return {
    repeatedSyns: netstatOf(sender)('TCPSynRetrans') ?? 0,
    // Kernels before 6.16 count both in one counter.
    rejectedByTimeWait: endpoints('PAWSTimewait') ?? endpoints('PAWSEstab') ?? 0,
    insertFailed: insertFailures(
      inside(node, () => readFileSync('/proc/thread-self/net/stat/nf_conntrack', 'utf8')),
    ),
    listenDrops: endpoints('ListenDrops') ?? 0,
    skippedAnswers: endpoints('TCPACKSkippedTimeWait') ?? 0,
    discardedTimeWaits: endpoints('TCPTimeWaitOverflow') ?? 0,
  }
}

export function grownBy(before: Counters, after: Counters): Counters {
  const names = Object.keys(before) as (keyof Counters)[]
  const grown = names.map((name) => [name, after[name] - before[name]])
  return Object.fromEntries(grown) as Counters
}

/** Reads `/proc/net/netstat`, which has two lines for each group, names and values. */
function netstatOf(namespace: string): (name: string) => number | undefined {
  const netstat = inside(namespace, () => readFileSync('/proc/thread-self/net/netstat', 'utf8'))
  const lines = netstat.split('\n').filter((line) => line.startsWith('TcpExt:'))
  const [names = [], values = []] = lines.map((line) => line.split(' '))
  return (name) => {
    const value = values[names.indexOf(name)]
    return value === undefined ? undefined : Number(value)
  }
}

/** Reads `/proc/net/stat/nf_conntrack`: a line of names, then a line of hexadecimal numbers for each processor. */
function insertFailures(stat: string): number {
  const [names = '', ...processors] = stat.trim().split('\n')
  const column = names.trim().split(/\s+/).indexOf('insert_failed')
  return processors.reduce(
    (sum, line) => sum + Number.parseInt(line.trim().split(/\s+/)[column] ?? '0', 16),
    0,
  )
}
