import type { Clock } from '../lib/clock.ts'
import type { Store } from '../storage/store.ts'
import type { Feed } from './cache/feed.ts'
import type { Lifecycle } from './lifecycle.ts'

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz'

export interface HealthCheck {
  readonly name: string
  passes(): boolean | Promise<boolean>
}

/** What is looked at. */
export interface HealthSubjects {
  readonly store: Pick<Store, 'revision'>
  readonly feed: Pick<Feed, 'until'>
  readonly lifecycle: Pick<Lifecycle, 'isLoaded' | 'isClosing'>
  readonly clock: Clock
}

/** How long the store and the caches have to show that they work. */
const CHECK_MS = 2000

/**
 * What must be true. Only `livez` asks for a restart when it fails, so it
 * looks at nothing that a restart would not heal.
 */
export function healthChecks({
  store,
  feed,
  lifecycle,
  clock,
}: HealthSubjects): Readonly<Record<HealthEndpoint, readonly HealthCheck[]>> {
  const ping: HealthCheck = { name: 'ping', passes: () => true }
  const newest = (): Promise<number | undefined> => withinTime(clock, store.revision())
  const answers: HealthCheck = {
    name: 'store',
    passes: async () => (await newest()) !== undefined,
  }
  const caches: HealthCheck = {
    name: 'caches',
    passes: async () =>
      lifecycle.isLoaded && feed.until((await newest()) ?? Number.POSITIVE_INFINITY, CHECK_MS),
  }
  const shutdown: HealthCheck = { name: 'shutdown', passes: () => !lifecycle.isClosing }
  const all = [ping, answers, caches]
  return { healthz: all, livez: [ping], readyz: [...all, shutdown] }
}

/** Undefined when it takes too long. */
function withinTime<T>(clock: Clock, answer: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(CHECK_MS, () => resolve(undefined))
    answer.then(resolve, reject).finally(cancel)
  })
}
