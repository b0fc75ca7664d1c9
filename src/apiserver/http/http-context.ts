import type { ServerContext } from '../context/server-context.ts'
import type { InFlightLimits } from '../flow-control/in-flight-limits.ts'
import type { Lifecycle } from '../health/lifecycle.ts'

/** What the verbs work with, and what decides whether a request reaches them. */
export interface HttpContext extends ServerContext {
  readonly inFlight: InFlightLimits
  readonly lifecycle: Lifecycle
}
