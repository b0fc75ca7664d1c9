import { median, quantile } from '../statistics.ts'
import type { Judged, Target } from '../verdict.ts'
import type { ApiserverCell, ApiserverMeasured } from './results.ts'

/** kube-apiserver 1.20 with an etcd that does not flush, at its best on two such cores. */
const REFERENCE_CREATES = 172

const WATCHERS = [1, 100, 1_000]

type Pick = (measured: Partial<ApiserverMeasured>) => number | undefined

export const APISERVER_TARGETS: readonly Target<ApiserverCell>[] = [
  {
    name: 'create Service ≥ 5 × 172/s, kube-apiserver’s without fsync',
    judge: ({ measured: { createServices } }) =>
      createServices && {
        measured: median(createServices.perSecond),
        limit: 5 * REFERENCE_CREATES,
        unit: '/s',
        atLeast: true,
      },
  },
  most(
    'list of 10,000 Services ≤ 100 ms',
    100,
    'ms',
    ({ lists }) => lists && median(lists.plain.ms),
  ),
  most(
    'list of 10,000 Services, gzip ≤ 100 ms',
    100,
    'ms',
    ({ lists }) => lists && median(lists.gzip.ms),
  ),
  most(
    'event-loop delay p99 < 50 ms during lists',
    50,
    'ms',
    ({ lists }) =>
      lists && Math.max(...[lists.plain, lists.gzip].map(({ delayP99 }) => median(delayP99))),
  ),
  most(
    'event-loop delay p99 < 50 ms during tables',
    50,
    'ms',
    ({ lists }) => lists && median(lists.table.delayP99),
  ),
  most(
    'memory when idle ≤ 150 MB',
    150,
    'MB',
    ({ startEmpty }) => startEmpty && (median(startEmpty.residentKib) * 1.024) / 1_000,
  ),
  most(
    'watch p99 ≤ 20 ms, 8 clients patching',
    20,
    'ms',
    ({ patch }) => patch && median(patch.watchP99),
  ),
  ...WATCHERS.map((watchers) =>
    most(
      `watch p99 ≤ 20 ms, ${watchers.toLocaleString('en-US')} watching`,
      20,
      'ms',
      ({ fanOut }) => {
        const found = fanOut?.find((each) => each.watchers === watchers)
        return found && median(found.p99)
      },
    ),
  ),
  most(
    'idle watcher ≤ 30 kB',
    30,
    'kB',
    ({ idleWatchers }) => idleWatchers && median(idleWatchers.kilobytesEach),
  ),
  most(
    'Endpoints p90 ≤ 20 ms after readiness',
    20,
    'ms',
    ({ readiness }) => readiness && quantile(readiness.ms, 0.9),
  ),
]

function most(
  name: string,
  limit: number,
  unit: Judged['unit'],
  pick: Pick,
): Target<ApiserverCell> {
  return {
    name,
    judge: ({ measured: all }) => {
      const measured = pick(all)
      return measured === undefined ? undefined : { measured, limit, unit }
    },
  }
}
