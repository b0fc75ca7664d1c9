import type { ClientObserver } from '../../../client/http/client-observer.ts'
import type { Metrics } from '../../../telemetry/metrics/metrics.ts'

type ClientMetrics = Pick<Metrics, 'restRequests' | 'restDuration' | 'credentialExpiration'>

/** Turns the reports of the API client into metrics. */
export function observeClient(metrics: ClientMetrics): ClientObserver {
  return {
    requested({ method, code, seconds }) {
      metrics.restRequests.inc({ code, method })
      metrics.restDuration.observe({ verb: method }, seconds)
    },
    authenticated(kind, expiresAt) {
      if (expiresAt === undefined) metrics.credentialExpiration.remove({ kind })
      else metrics.credentialExpiration.set({ kind }, expiresAt / 1_000)
    },
  }
}
