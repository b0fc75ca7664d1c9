import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import {
  type WatchedResource,
  type WatchState,
  watchedResources,
} from '../../watch/cluster-watcher.ts'

/** resourceVersions that the watches have delivered, by the label of the metric. */
type Versions = ReadonlyMap<WatchedResource['resource'], number>

/** What `AppliedVersions` uses. */
export interface AppliedVersionsParts {
  readonly metrics: Pick<Metrics, 'appliedResourceVersion'>
  /** Calls back when everything that was enqueued before is in the kernel. */
  readonly afterApply: (callback: () => void) => void
}

/** Publishes the resourceVersions whose effect is in the kernel. */
export class AppliedVersions {
  readonly #parts: AppliedVersionsParts
  #isScheduled = false

  constructor(parts: AppliedVersionsParts) {
    this.#parts = parts
  }

  /** Publishes the versions of `state` as soon as their effect is in the kernel. */
  mark(state: WatchState): void {
    const versions = seenVersions(state)
    this.#parts.afterApply(() => this.#publish(versions))
  }

  /** As `mark`, once for all events of one turn of the event loop; reads `watch` after the last of them. */
  markSoon(watch: () => WatchState): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.mark(watch())
    })
  }

  #publish(versions: Versions): void {
    for (const [resource, version] of versions) {
      this.#parts.metrics.appliedResourceVersion.set({ resource }, version)
    }
  }
}

function seenVersions(state: WatchState): Versions {
  return new Map(
    watchedResources(state).flatMap(({ resource, state: { resourceVersion = '' } = {} }) =>
      /^\d+$/.test(resourceVersion) ? [[resource, Number(resourceVersion)] as const] : [],
    ),
  )
}
