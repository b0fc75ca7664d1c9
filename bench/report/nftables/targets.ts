import type { Changes } from '../results.ts'
import { median, quantile } from '../statistics.ts'
import type { Judged, Target } from '../verdict.ts'
import type { NftablesCell, Waits } from './results.ts'

/** Services and endpoints of each, as a key of the limits below. */
type Shape = `${number}x${number}`

const READY_MS: ReadonlyMap<Shape, number> = new Map([
  ['10000x10', 2_000],
  ['50000x2', 6_000],
])

const MEMORY_MIB: ReadonlyMap<Shape, number> = new Map([
  ['1000x10', 100],
  ['10000x10', 190],
])

/** The shape at which the waits of others are measured. */
const STALL_SHAPE: Shape = '10000x10'
const STALL_MS = 50

const CONNECT_SERVICES = 50_000

export const NFTABLES_TARGETS: readonly Target<NftablesCell>[] = [
  {
    name: 'endpoint replaced, API answer → kernel, p50 ≤ 2 ms',
    judge: ({ measured: { replace } }) => replace && ms(median(afterAnswer(replace)), 2),
  },
  {
    name: 'endpoint replaced, API answer → kernel, p99 ≤ 8 ms',
    judge: ({ measured: { replace } }) => replace && ms(quantile(afterAnswer(replace), 0.99), 8),
  },
  {
    name: 'daemon’s processor time ≤ 2 ms per change',
    judge: ({ measured: { replace } }) => replace && ms(replace.cpuSecondsEach * 1_000, 2),
  },
  {
    name: 'full sync from the list ≤ 1.3 × raw + 0.5 s',
    judge: ({ measured: { fullSync, rawFullSync } }) =>
      fullSync &&
      rawFullSync &&
      ms(median(fullSync.fromListed), median(rawFullSync.ms) * 1.3 + 500),
  },
  {
    name: 'ready after the start of the process',
    judge: (cell) => {
      const limit = READY_MS.get(shapeOf(cell))
      const { fullSync } = cell.measured
      return limit && fullSync ? ms(median(fullSync.fromStart), limit) : undefined
    },
  },
  {
    name: 'burst of 100 ≤ 60 ms after the last answer',
    judge: ({ measured: { burst } }) => burst && ms(median(afterAnswer(burst)), 60),
  },
  {
    name: 'connect p50 ≤ 1.1 × no NAT + 3 µs at 50,000 Services',
    judge: ({ services, measured: { firstPacket } }) =>
      services === CONNECT_SERVICES && firstPacket
        ? {
            measured: Math.max(firstPacket.first.p50, firstPacket.last.p50),
            limit: firstPacket.direct.p50 * 1.1 + 3,
            unit: 'µs',
          }
        : undefined,
  },
  {
    name: 'daemon’s peak memory',
    judge: (cell) => {
      const limit = MEMORY_MIB.get(shapeOf(cell))
      const { memory } = cell.measured
      if (limit === undefined || memory === undefined) return undefined
      return { measured: memory.daemonPeak / 1_024, limit, unit: 'MiB' }
    },
  },
  {
    name: 'idle processor time ≤ 0.2 %',
    judge: ({ measured: { idle } }) => idle && { measured: idle.cpuPercent, limit: 0.2, unit: '%' },
  },
  stallTarget('a transaction of others', 'transaction'),
  stallTarget('a list of others', 'list'),
  stallTarget('a packet', 'packet'),
]

/** Milliseconds from the server's last answer to each until everything is in the kernel. */
export function afterAnswer({ ms, writeMs }: Pick<Changes, 'ms' | 'writeMs'>): readonly number[] {
  return ms.map((each, n) => each - (writeMs[n] ?? 0))
}

/** The longest wait of all rounds. */
function stallTarget(what: string, name: keyof Waits): Target<NftablesCell> {
  return {
    name: `${what} waits ≤ ${STALL_MS} ms during a cold start`,
    judge: (cell) => {
      const { stall } = cell.measured
      if (shapeOf(cell) !== STALL_SHAPE || stall === undefined) return undefined
      return ms(Math.max(...stall.coldStart[name].longest), STALL_MS)
    },
  }
}

function shapeOf({ services, endpoints }: NftablesCell): Shape {
  return `${services}x${endpoints}`
}

function ms(measured: number, limit: number): Judged {
  return { measured, limit, unit: 'ms' }
}
