import type { RequestListener } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import type { NodeProxyError } from '../../lib/error.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import { healthzAnswer, livezAnswer, readyzAnswer } from '../../telemetry/health/answers.ts'
import type { Health } from '../../telemetry/health/health.ts'
import type { Readiness } from '../../telemetry/health/readiness.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import { jsonPage, type Routes, serveRoutes, textPage } from '../../telemetry/pages-routes.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { Listener } from './listener.ts'

/** The sources of the pages, read at each request. */
export interface PageSources {
  readonly health: Pick<Health, 'report'>
  readonly readiness: () => Readiness
  readonly metrics: Metrics
  /** JSON text, see configzBody. */
  readonly configz: () => string
  /** For example `iptables`. */
  readonly mode: () => string
}

/** A server of status pages, by the field of its address. */
export type StatusPage = 'healthz' | 'metrics'

export interface StatusServersOptions {
  readonly config: Pick<
    NodeProxyConfiguration,
    'healthzBindAddress' | 'metricsBindAddress' | 'bindAddressHardFail'
  >
  readonly sources: PageSources
  readonly clock: Clock
  /** Another process has the address of a page; the attempt is repeated in the background. */
  readonly onBlocked: (page: StatusPage, error: NodeProxyError) => void
  readonly onListening?: (page: StatusPage) => void
  /** Receives the error of a page, which is a bug. */
  readonly onError: (error: unknown) => void
}

/** The running servers of status pages. */
export interface StatusServers {
  /** Undefined: not listening. */
  readonly healthzPort: number | undefined
  readonly metricsPort: number | undefined
  /** Ports that another process has, which are tried again. */
  readonly waitingPorts: readonly number[]
  close(): Promise<void>
}

/**
 * Serves the health and metrics pages. With bindAddressHardFail the first
 * address that cannot be bound rejects (NP_NODEPROXY_BIND) and nothing stays open.
 */
export async function startStatusServers(options: StatusServersOptions): Promise<StatusServers> {
  const { config, sources, onError } = options
  const open: Listener[] = []
  const start = async (page: StatusPage, handler: RequestListener) => {
    const address: SocketAddress | undefined = config[`${page}BindAddress`]
    if (address === undefined) return undefined
    let blocked: NodeProxyError | undefined
    const onBlocked = (error: NodeProxyError) => {
      blocked ??= error
      options.onBlocked(page, error)
    }
    const onListening = () => options.onListening?.(page)
    const parts = { address, handler, clock: options.clock, onBlocked, onListening }
    const listener = new Listener(parts)
    open.push(listener)
    await listener.start()
    if (blocked !== undefined && config.bindAddressHardFail) {
      await Promise.all(open.map((opened) => opened.close()))
      throw blocked
    }
    return listener
  }
  const healthz = await start('healthz', serveRoutes(healthRoutes(sources), onError))
  const metrics = await start('metrics', serveRoutes(metricsRoutes(sources), onError))
  return {
    get healthzPort() {
      return healthz?.port
    },
    get metricsPort() {
      return metrics?.port
    },
    get waitingPorts() {
      return open.filter(({ port }) => port === undefined).map(({ wantedPort }) => wantedPort)
    },
    close: async () => void (await Promise.all(open.map((listener) => listener.close()))),
  }
}

/** Port 10256: for load balancers and the node's supervisor. */
function healthRoutes({ health, readiness, metrics }: PageSources): Routes {
  return {
    '/healthz': () => {
      const { code, body } = healthzAnswer(health.report())
      metrics.healthz.inc({ code })
      return jsonPage(code, body)
    },
    '/livez': () => {
      const { code, body } = livezAnswer(health.report())
      metrics.livez.inc({ code })
      return jsonPage(code, body)
    },
    '/readyz': () => readyPage(readiness),
  }
}

/** Port 10249: for monitoring and operators. */
function metricsRoutes(sources: PageSources): Routes {
  return {
    '/metrics': async () => ({
      code: 200,
      contentType: sources.metrics.contentType,
      body: await sources.metrics.text(),
    }),
    '/healthz': () => textPage(200, 'ok'),
    '/readyz': () => readyPage(sources.readiness),
    '/configz': () => ({ code: 200, contentType: 'application/json', body: sources.configz() }),
    '/proxyMode': () => textPage(200, sources.mode()),
  }
}

function readyPage(readiness: () => Readiness) {
  const { code, body } = readyzAnswer(readiness())
  return jsonPage(code, body)
}
