import type { Cell } from './results.ts'
import { median } from './statistics.ts'
import type { Judged, Target } from './verdict.ts'

const MEMORY_LIMITS_MIB: ReadonlyMap<number, number> = new Map([
  [1_000, 100],
  [10_000, 190],
])

export const TARGETS: readonly Target<Cell>[] = [
  {
    name: 'full sync ≤ 1.3 × raw + 0.5 s',
    judge: ({ measured: { fullSync, rawFullSync } }) =>
      fullSync && rawFullSync && ms(median(fullSync.fromStart), median(rawFullSync.ms) * 1.3 + 500),
  },
  {
    name: 'full sync ≤ 5 s at 10,000',
    judge: ({ services, measured: { fullSync } }) =>
      services === 10_000 && fullSync ? ms(median(fullSync.fromStart), 5_000) : undefined,
  },
  {
    name: 'endpoint replaced, p50 ≤ 1.3 × raw + 10 ms',
    judge: ({ measured: { replace, rawReplace } }) =>
      replace && rawReplace && ms(median(replace.ms), median(rawReplace.ms) * 1.3 + 10),
  },
  {
    name: 'endpoint replaced, p50 ≤ 40 ms at 10,000 (nft)',
    judge: ({ services, backend, measured: { replace } }) =>
      services === 10_000 && backend === 'nft' && replace ? ms(median(replace.ms), 40) : undefined,
  },
  {
    name: 'Service added ≤ 2 × endpoint replaced',
    judge: ({ measured: { add, replace } }) =>
      add && replace && ms(median(add.ms), median(replace.ms) * 2),
  },
  {
    name: 'burst of 100 ≤ 3 × one change',
    judge: ({ measured: { burst, replace } }) =>
      burst && replace && ms(median(burst.ms), median(replace.ms) * 3),
  },
  { name: 'connect p50 ≤ 1.2 × that at 100 Services', judge: judgeConnect },
  {
    name: 'daemon’s peak memory',
    judge: ({ services, measured: { memory } }) => {
      const limit = MEMORY_LIMITS_MIB.get(services)
      if (limit === undefined || memory === undefined) return undefined
      return { measured: memory.daemonPeak / 1_024, limit, unit: 'MiB' }
    },
  },
  {
    name: 'idle processor time ≤ 0.3 %',
    judge: ({ measured: { idle } }) => idle && { measured: idle.cpuPercent, limit: 0.3, unit: '%' },
  },
]

/** Compares connections through the last Service with the same figure of the smallest cluster of this variant. */
function judgeConnect(
  { services, backend, measured }: Cell,
  all: readonly Cell[],
): Judged | undefined {
  const small = all.find((cell) => cell.services === 100 && cell.backend === backend)
  const reference = small?.measured.firstPacket?.last.p50
  if (services === 100 || reference === undefined || !measured.firstPacket) return undefined
  return { measured: measured.firstPacket.last.p50, limit: reference * 1.2, unit: 'µs' }
}

function ms(measured: number, limit: number): Judged {
  return { measured, limit, unit: 'ms' }
}
