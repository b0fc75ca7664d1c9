import type { Clock } from '../lib/clock.ts'
import { regularly } from '../lib/regularly.ts'
import type { Store } from './store.ts'

export interface RegularCompactionOptions {
  readonly store: Pick<Store, 'revision' | 'compact'>
  readonly clock: Clock
  /** Receives the error of a failed round; the next round follows. */
  readonly onError: (error: unknown) => void
}

/** The period of kube-apiserver. Each round compacts at the revision that was the newest in the round before. */
const PERIOD_MS = 300_000

/**
 * Removes history that is older than five to ten minutes, for a store that does not do so itself: an etcd
 * without compaction fills up. Several servers may run this for one store.
 * @returns stops it
 */
export function compactRegularly({ store, clock, onError }: RegularCompactionOptions): () => void {
  let before: number | undefined
  const round = async (): Promise<void> => {
    const newest = await store.revision()
    if (before !== undefined) await store.compact(before)
    before = newest
  }
  return regularly({ clock, everyMs: PERIOD_MS, round, onError })
}
