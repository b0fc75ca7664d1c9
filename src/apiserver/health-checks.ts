import type { Clock } from '../lib/clock.ts'
import type { Store } from '../storage/store.ts'
import type { Feed } from './cache/feed.ts'

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz'

export interface HealthCheck {
  readonly name: string
  passes(): boolean | Promise<boolean>
}

/** What is looked at. */
export interface HealthSubjects {
  readonly store: Pick<Store, 'revision'>
  readonly feed: Pick<Feed, 'until'>
  readonly clock: Clock
}

/** How long the store and the caches have to show that they work. */
const CHECK_MS = 2000

/**
 * What must be true. Only `livez` asks for a restart when it fails, so it
 * looks at nothing that a restart would not heal.
 */
export function healthChecks(
  { store, feed, clock }: HealthSubjects,
  isReady: () => boolean,
): Readonly<Record<HealthEndpoint, readonly HealthCheck[]>> {
  const ping: HealthCheck = { name: 'ping', passes: () => true }
  const serving: HealthCheck = { name: 'serving', passes: isReady }
  const newest = (): Promise<number | undefined> => withinTime(clock, store.revision())
  const answers: HealthCheck = {
    name: 'store',
    passes: async () => (await newest()) !== undefined,
  }
  const caches: HealthCheck = {
    name: 'caches',
    passes: async () => feed.until((await newest()) ?? Number.POSITIVE_INFINITY, CHECK_MS),
  }
  const all = [ping, serving, answers, caches]
  return { healthz: all, livez: [ping], readyz: all }
}

/** Undefined when it takes too long. */
function withinTime<T>(clock: Clock, answer: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(CHECK_MS, () => resolve(undefined))
    answer.then(resolve, reject).finally(cancel)
  })
}
