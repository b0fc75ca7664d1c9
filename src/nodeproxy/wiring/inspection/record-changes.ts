import type { ChangeHistory } from '../../../inspection/history/change-history.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { SyncObserver } from '../../../sync/observer.ts'

/** An observer that also writes the history of changes. */
export function recordChanges(
  observer: SyncObserver,
  history: ChangeHistory,
  clock: Pick<Clock, 'now'>,
): SyncObserver {
  return {
    ...observer,
    compiled(services) {
      history.compiled(services, clock.now())
      observer.compiled(services)
    },
    applied(run) {
      history.applied(run)
      observer.applied(run)
    },
    drifted(drift, by) {
      history.driftRepaired += drift.length
      observer.drifted(drift, by)
    },
  }
}
