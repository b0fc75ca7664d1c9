import { healthzAnswer, livezAnswer, readyzAnswer } from '../../telemetry/health/answers.ts'
import type { Health } from '../../telemetry/health/health.ts'
import type { Readiness } from '../../telemetry/health/readiness.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import { jsonPage, type Routes, textPage } from '../../telemetry/pages/routes.ts'

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

/** Port 10256: for load balancers and the node's supervisor. */
export function healthRoutes({ health, readiness, metrics }: PageSources): Routes {
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
export function metricsRoutes(sources: PageSources): Routes {
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
