import type { Clock } from '../lib/clock.ts'
import { regularly } from '../lib/regularly.ts'
import type { Store } from './store.ts'

export interface RegularCompactionOptions {
  readonly store: Pick<Store, 'revision' | 'compact'>
  readonly clock: Clock
  /** Called with the error; the next round makes up for it. */
  readonly onError: (error: unknown) => void
}

/** As kube-apiserver does it: what was the newest revision a round ago is the oldest from now on. */
const PERIOD_MS = 300_000

/**
 * Forgets history that is older than five to ten minutes, for a store that does
 * not do so itself: an etcd that keeps all of it is full one day. Several servers
 * may do this on one store. The returned function ends it.
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
