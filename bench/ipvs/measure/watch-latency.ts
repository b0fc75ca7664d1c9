import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../../cluster/cluster.ts'
import { pick } from '../../measure/context.ts'
import type { WatchLatency } from '../../report/ipvs/results.ts'

const PROGRAM = new URL('../raw/bare-watch.ts', import.meta.url).pathname
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices'
const REST_MS = 40
/** Milliseconds to wait for the last events. */
const LAST_MS = 500

export interface WatchParts {
  readonly cluster: Cluster
  readonly freshAddress: () => number
}

/**
 * Measures how long an event of the API server takes to reach a client that only watches, without a daemon: the part of
 * the time of a change that no daemon can avoid.
 */
export async function watchLatency(parts: WatchParts, count: number): Promise<WatchLatency> {
  const { cluster } = parts
  const since = cluster.written.get('endpointslices') ?? 0
  const url = `${cluster.url}${SLICES}?watch=1&resourceVersion=${since}`
  const child = spawn(process.execPath, [PROGRAM, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  const seen = new Map<number, bigint>()
  lines.on('line', (line) => {
    const [version = '', at] = line.split(' ')
    if (at !== undefined) seen.set(Number(version), BigInt(at))
  })
  try {
    await once(lines, 'line')
    const writes = await writeSome(parts, count)
    await delay(LAST_MS)
    const all = writes.flatMap((write) => {
      const at = seen.get(write.version)
      return at === undefined ? [] : [{ ...write, at }]
    })
    if (all.length < count) throw new Error(`the watch saw ${all.length} of ${count} events`)
    return {
      fromSent: all.map(({ sent, at }) => milliseconds(at - sent)),
      fromAnswered: all.map(({ answered, at }) => milliseconds(at - answered)),
    }
  } finally {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
}

async function writeSome({ cluster, freshAddress }: WatchParts, count: number) {
  const writes: { readonly version: number; readonly sent: bigint; readonly answered: bigint }[] =
    []
  for (let n = 0; n < count; n++) {
    const service = pick(cluster, n)
    const [, ...rest] = cluster.endpointsOf(service)
    const endpoints = [...rest, freshAddress()]
    await delay(REST_MS)
    const sent = process.hrtime.bigint()
    await cluster.setEndpoints(service, endpoints)
    const answered = process.hrtime.bigint()
    writes.push({ version: cluster.written.get('endpointslices') ?? 0, sent, answered })
  }
  return writes
}

function milliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds) / 1e6
}
