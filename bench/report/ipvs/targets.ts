import { median } from '../statistics.ts'
import type { Judged, Target } from '../verdict.ts'
import type { IpvsCell } from './results.ts'

const CHANGE_MS = 5
const REPAIR_MS = 2_000

export const IPVS_TARGETS: readonly Target<IpvsCell>[] = [
  {
    name: 'endpoint replaced, API event → kernel, p50 ≤ 5 ms',
    judge: ({ measured: { replace } }) => replace && ms(median(replace.fromAnswered), CHANGE_MS),
  },
  {
    name: 'endpoint replaced, API write → kernel, p50 ≤ 2 × raw + the watch’s own latency',
    judge: ({ measured: { replace, rawReplace, watch } }) =>
      replace &&
      rawReplace &&
      watch &&
      ms(median(replace.fromSent), 2 * median(rawReplace) + median(watch.fromSent)),
  },
  {
    name: 'full sync from listed ≤ 1.5 × raw',
    judge: ({ services, measured: { fullSync, rawFullSync } }) =>
      services === 10_000 && fullSync && rawFullSync
        ? ms(median(fullSync.fromListed), 1.5 * median(rawFullSync.sender))
        : undefined,
  },
  {
    name: 'full sync from the start of the process ≤ 1.5 × raw',
    judge: ({ services, measured: { fullSync, rawFullSync } }) =>
      services === 10_000 && fullSync && rawFullSync
        ? ms(median(fullSync.fromStart), 1.5 * median(rawFullSync.sender))
        : undefined,
  },
  {
    name: 'foreign clear repaired ≤ 2 s after notice',
    judge: ({ measured: { clear } }) => clear && ms(median(clear.toRepair), REPAIR_MS),
  },
]

function ms(measured: number, limit: number): Judged {
  return { measured, limit, unit: 'ms' }
}
