import { lateFrom } from '../../../client/connection/credential/validity.ts'
import type { ClientObserver } from '../../../client/http/client-observer.ts'
import type { Metrics } from '../../../telemetry/metrics/metrics.ts'

type ClientMetrics = Pick<
  Metrics,
  'restRequests' | 'restDuration' | 'credentialExpiration' | 'credentialLate'
>

/** Turns the reports of the API client into metrics; `credentials` receives those of credentials as well. */
export function observeClient(
  metrics: ClientMetrics,
  credentials: Pick<ClientObserver, 'authenticated'>,
): ClientObserver {
  return {
    requested({ method, code, seconds }) {
      metrics.restRequests.inc({ code, method })
      metrics.restDuration.observe({ verb: method }, seconds)
    },
    authenticated(kind, validity) {
      credentials.authenticated(kind, validity)
      if (validity === undefined) {
        metrics.credentialExpiration.remove({ kind })
        metrics.credentialLate.remove({ kind })
      } else {
        metrics.credentialExpiration.set({ kind }, validity.to / 1_000)
        metrics.credentialLate.set({ kind }, lateFrom(kind, validity) / 1_000)
      }
    },
  }
}
