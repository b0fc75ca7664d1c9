import type { HealthReport } from './health.ts'
import type { Readiness } from './readiness.ts'

/** The response of a health page. */
export interface HealthAnswer {
  readonly code: 200 | 503
  /** To be sent as JSON. */
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * /healthz: may load balancers send traffic here? 503 while a change is older
 * than two sync periods, while the node is being removed, and before the first
 * run unless rules of an earlier one serve.
 */
export function healthzAnswer(report: HealthReport): HealthAnswer {
  const ok = report.serving && report.nodeEligible
  return {
    code: ok ? 200 : 503,
    body: {
      ...common(report),
      nodeEligible: report.nodeEligible,
      healthy: ok,
      status: status(report),
    },
  }
}

/** /livez: would a restart help? Neither a leaving node nor a first run that is not done is a reason. */
export function livezAnswer(report: HealthReport): HealthAnswer {
  return {
    code: report.healthy ? 200 : 503,
    body: { ...common(report), healthy: report.healthy, status: status(report) },
  }
}

/** /readyz: does everything work, the connection to the API server included? */
export function readyzAnswer(readiness: Readiness): HealthAnswer {
  const { ready, reasons, warnings } = readiness
  const messages = reasons.map(({ message }) => message)
  return { code: ready ? 200 : 503, body: { ready, reasons: messages, warnings } }
}

function common(report: HealthReport): Record<string, string> {
  return { lastUpdated: time(report.lastUpdated), currentTime: time(report.now) }
}

function status(report: HealthReport): Record<string, unknown> {
  return Object.fromEntries(
    [...report.status].map(([family, { healthy, lastUpdated }]) => [
      family,
      { lastUpdated: time(lastUpdated), healthy },
    ]),
  )
}

/** A time as RFC 3339; undefined is the zero time of Go, which readers of kube-proxy's page expect. */
function time(ms: number | undefined): string {
  return ms === undefined ? '0001-01-01T00:00:00Z' : new Date(ms).toISOString()
}
