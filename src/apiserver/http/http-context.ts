import type { AuditLog } from '../audit/audit-log.ts'
import type { OpenidProvider } from '../authentication/openid-documents.ts'
import type { Identifier } from '../authentication/request-identity.ts'
import type { ServerContext } from '../context/server-context.ts'
import type { InFlightLimits } from '../flow-control/in-flight-limits.ts'
import type { Lifecycle } from '../health/lifecycle.ts'

/** The context of the verbs, with what decides before them whether a request is served: lifecycle and concurrency limits. */
export interface HttpContext extends ServerContext {
  readonly audit: Pick<AuditLog, 'begin'>
  readonly identifier: Identifier
  /** Undefined: the server has no keys for tokens. */
  readonly openid: OpenidProvider | undefined
  readonly inFlight: InFlightLimits
  readonly lifecycle: Lifecycle
}
