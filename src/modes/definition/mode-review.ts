import type { ServiceKey } from '../../forwarding/entry.ts'
import type { Service } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { KernelError } from '../mode.ts'
import type { NetfilterConfiguration } from '../netfilter/settings/configuration.ts'

/** Where a mode raises and clears its conditions, which the health answers show. */
export type ConditionSink = Pick<Conditions, 'raise' | 'clear'>

/** What conditions of a mode are computed from. */
export interface ReviewFacts<C = unknown> {
  readonly config: NetfilterConfiguration & { readonly proxyName: string } & C
  /** Whether this mode forwards; conditions of the other modes are cleared. */
  readonly isAtWork: boolean
  readonly serviceOf: (key: ServiceKey) => Service | undefined
}

/** Raises and clears the conditions that only one mode has. It is called again after every change. */
export interface ModeReview<C = unknown> {
  /** Services or the configuration changed. */
  services(conditions: ConditionSink, facts: ReviewFacts<C>): void
  /** Whether the configuration caused this error, not a Service. */
  isConfigured(error: KernelError): boolean
  /** The present errors for which `isConfigured` holds, by message; empty: none. */
  configuredErrors(conditions: ConditionSink, messages: readonly string[]): void
}
