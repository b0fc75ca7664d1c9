import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Feed } from '../cache/feed.ts'
import type { StoreHealth } from './store-health.ts'

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz'

export interface HealthCheck {
  readonly name: string
  /** The problem, in words that any client may read; undefined: none. */
  fault(): string | undefined | Promise<string | undefined>
  /** What an operator should know even though the check passes. */
  readonly warning?: () => string | undefined
}

/** The parts of the server that are checked. */
export interface HealthSubjects {
  readonly store: Pick<StoreHealth, 'newest' | 'readFault' | 'writeFault'>
  readonly feed: Pick<Feed, 'until'>
  readonly lifecycle: Pick<Lifecycle, 'isLoaded' | 'isClosing'>
  readonly conditions: Pick<Conditions, 'current'>
}

/** Milliseconds that the caches may take to show the newest revision of the store. */
const CACHES_MS = 1000

/**
 * The health checks. A failing `livez` restarts the server, so it only checks what a restart can repair. A
 * failing `readyz` takes traffic away from the server, so it only checks what most requests need: the watches
 * of nodes continue while nothing can be written. Lasting conditions, such as unreadable objects, are warnings,
 * because everything else is served.
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
      if (newest === undefined) return 'the newest revision of the store cannot be read'
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

/** The state of a server between start and end, as `/readyz` reports it to load balancers. */
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
