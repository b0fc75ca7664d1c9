import type { ServiceKey } from '../../forwarding/entry.ts'
import type { Service } from '../../resources/types.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { KernelError } from '../mode.ts'
import type { NetfilterConfiguration } from '../netfilter/settings/configuration.ts'

export type ConditionSink = Pick<Conditions, 'raise' | 'clear'>

export interface ReviewFacts<C = unknown> {
  readonly config: NetfilterConfiguration & { readonly proxyName: string } & C
  /** Another mode's conditions are cleared. */
  readonly isAtWork: boolean
  readonly serviceOf: (key: ServiceKey) => Service | undefined
}

/** Raises and clears the conditions that only one mode has. */
export interface ModeReview<C = unknown> {
  /** Services or the configuration changed. */
  services(conditions: ConditionSink, facts: ReviewFacts<C>): void
  /** Whether it is an error about what the configuration, not a Service, requests. */
  isConfigured(error: KernelError): boolean
  /** The present errors for which `isConfigured` holds, by message; empty: none. */
  configuredErrors(conditions: ConditionSink, messages: readonly string[]): void
}
