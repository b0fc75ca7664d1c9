import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Feed } from '../cache/feed.ts'
import type { Reply } from '../request/api-request.ts'
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
interface HealthSubjects {
  readonly store: Pick<StoreHealth, 'newest' | 'readFault' | 'writeFault'>
  readonly feed: Pick<Feed, 'until'>
  readonly lifecycle: Pick<Lifecycle, 'isLoaded' | 'isClosing'>
  readonly conditions: Pick<Conditions, 'current'>
  /** Why the program around the server is not ready yet, for `/readyz`; undefined: it is. */
  readonly startFault?: () => string | undefined
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
  startFault = () => undefined,
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
  const start: HealthCheck = { name: 'start', fault: startFault }
  const shutdown: HealthCheck = {
    name: 'shutdown',
    fault: () => (lifecycle.isClosing ? 'the server is stopping' : undefined),
  }
  const context = [ping, reads, caches]
  return {
    healthz: [...context, writes, lasting],
    livez: [ping],
    readyz: [...context, start, shutdown, lasting],
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

/**
 * Runs the checks except those that `?exclude=` names. The answer lists them if `?verbose` is given, or if one
 * fails or warns.
 */
export async function healthReply(
  endpoint: HealthEndpoint,
  checks: readonly HealthCheck[],
  query: URLSearchParams,
): Promise<Reply> {
  const excluded = new Set(query.getAll('exclude'))
  const results = await Promise.all(checks.map((check) => resultOf(check, excluded)))
  const passed = results.every((one) => one.passed)
  const verdict = `${endpoint} check ${passed ? 'passed' : 'failed'}`
  const isShort = passed && !query.has('verbose') && results.every((one) => !one.warns)
  const text = isShort ? 'ok' : `${[...results.map(({ line }) => line), verdict].join('\n')}\n`
  const contentType = 'text/plain; charset=utf-8'
  return { code: passed ? 200 : 503, contentType, body: [Buffer.from(text)] }
}

async function resultOf(check: HealthCheck, excluded: ReadonlySet<string>) {
  const { name } = check
  if (excluded.has(name)) return { passed: true, warns: false, line: `[+]${name} excluded: ok` }
  const fault = await check.fault()
  if (fault !== undefined) {
    return { passed: false, warns: false, line: `[-]${name} failed: ${fault}` }
  }
  const warning = check.warning?.()
  const line = warning === undefined ? `[+]${name} ok` : `[!]${name} warning: ${warning}`
  return { passed: true, warns: warning !== undefined, line }
}
