import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Feed } from '../cache/feed.ts'
import type { StoreHealth } from './store-health.ts'

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz'

export interface HealthCheck {
  readonly name: string
  /** What is wrong, in words that any client may read; undefined: nothing. */
  fault(): string | undefined | Promise<string | undefined>
  /** What an operator has to know although the check passes. */
  readonly warning?: () => string | undefined
}

/** What is looked at. */
export interface HealthSubjects {
  readonly store: Pick<StoreHealth, 'newest' | 'readFault' | 'writeFault'>
  readonly feed: Pick<Feed, 'until'>
  readonly lifecycle: Pick<Lifecycle, 'isLoaded' | 'isClosing'>
  readonly conditions: Pick<Conditions, 'current'>
}

/** How long the caches have to show what the store holds. */
const CACHES_MS = 1000

/**
 * What must be true. A failing `livez` restarts the server, so it checks nothing
 * that a restart would not repair; a failing `readyz` takes its traffic away, so it checks
 * nothing that leaves most requests served: the watches of
 * nodes go on while nothing can be written. Lasting conditions, such as objects that cannot be
 * read, are warnings: everything else is served.
 */
export function healthChecks({
  store,
  feed,
  lifecycle,
  conditions,
}: HealthSubjects): Readonly<Record<HealthEndpoint, readonly HealthCheck[]>> {
  const ping: HealthCheck = { name: 'ping', fault: () => undefined }
  const reads: HealthCheck = {
    name: 'store',
    fault: async () => ((await store.newest()) === undefined ? store.readFault : undefined),
  }
  const writes: HealthCheck = { name: 'writes', fault: () => store.writeFault }
  const caches: HealthCheck = {
    name: 'caches',
    fault: async () => {
      if (!lifecycle.isLoaded) return 'they are being loaded'
      const newest = await store.newest()
      if (newest === undefined) return 'how far the store is cannot be learned'
      return (await feed.until(newest, CACHES_MS)) ? undefined : 'they lag behind the store'
    },
  }
  const lasting: HealthCheck = {
    name: 'conditions',
    fault: () => undefined,
    warning: () =>
      conditions
        .current()
        .map(({ message }) => message)
        .join('; ') || undefined,
  }
  const shutdown: HealthCheck = {
    name: 'shutdown',
    fault: () => (lifecycle.isClosing ? 'the server is stopping' : undefined),
  }
  const context = [ping, reads, caches]
  return {
    healthz: [...context, writes, lasting],
    livez: [ping],
    readyz: [...context, shutdown, lasting],
  }
}

/** How far the life of a server has come, as `/readyz` reports it to load balancers. */
export class Lifecycle {
  #isLoaded = false
  #isClosing = false

  /** The caches hold everything: resources can be served. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Load balancers should choose other servers, although requests are still served. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  loaded(): void {
    this.#isLoaded = true
  }

  closing(): void {
    this.#isClosing = true
  }
}
