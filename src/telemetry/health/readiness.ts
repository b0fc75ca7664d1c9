import type { PresentCondition } from './conditions.ts'
import { type HealthReport, waitedMs } from './health.ts'

export interface ReadinessFacts {
  /** Resources by name, and whether a watch on them is open. */
  readonly connected: ReadonlyMap<string, boolean>
  /** Resources by name, and why requests for them fail at present. */
  readonly apiFailures: ReadonlyMap<string, RequestFailure>
  /** Why the API server, whose watches are open, is silent; undefined while it answers. */
  readonly silence: RequestFailure | undefined
  /** Resources by name, and whether they have been listed completely. */
  readonly synced: ReadonlyMap<string, boolean>
  /** The first complete run is done. */
  readonly applied: boolean
  /** How far behind the kernel is. */
  readonly kernel: Pick<HealthReport, 'now' | 'healthy' | 'status' | 'failure'>
  readonly conditions: readonly PresentCondition[]
}

/** Why requests to the API server fail. */
interface RequestFailure {
  /** A value of the label `reason` of `nodeproxy_api_failures_total`. */
  readonly reason: string
  /** Cause and remedy in one line. */
  readonly description: string
}

/** Whether the daemon is ready, and why not. */
export interface Readiness {
  readonly ready: boolean
  /** Why it is not ready, the most fundamental reason first. */
  readonly reasons: readonly NotReadyReason[]
  /** Conditions that do not block readiness. */
  readonly warnings: readonly string[]
}

/** One thing that keeps the daemon from being ready. */
export interface NotReadyReason {
  /**
   * What programs decide by, never changed: an `OwnCode`, the reason of a failed request to the API server, or that of
   * a condition.
   */
  readonly code: string
  /** For people. */
  readonly message: string
}

/** What is neither a failed request nor a condition; `not-watched`: no request failed, and no watch is open. */
type OwnCode = 'not-watched' | 'not-listed' | 'not-connected' | 'not-applied' | 'change-waits'

/**
 * The daemon is ready when its watches are open and the API server answers, all resources are listed, the rules are in
 * the kernel, no change waits for too long, and no condition blocks readiness.
 */
export function assessReadiness(facts: ReadinessFacts): Readiness {
  const { connected, apiFailures, silence, synced, applied, kernel, conditions } = facts
  const reasons: readonly NotReadyReason[] = [
    ...missing(connected).map((resource) => noWatch(resource, apiFailures.get(resource))),
    ...(silence === undefined ? [] : [silentServer(silence)]),
    ...missing(synced).map((resource) => own('not-listed', `${resource} are not listed yet`)),
    ...(connected.size === 0 ? [own('not-connected', 'not connected to the API server yet')] : []),
    ...(applied ? [] : [own('not-applied', 'the rules are not in the kernel yet')]),
    ...(kernel.healthy ? [] : [stuckChange(kernel)]),
    ...conditions
      .filter(({ blocksReadiness }) => blocksReadiness)
      .map(({ reason: code, message }) => ({ code, message })),
  ]
  const warnings = conditions
    .filter(({ blocksReadiness }) => !blocksReadiness)
    .map(({ message }) => message)
  return { ready: reasons.length === 0, reasons, warnings }
}

function missing(resources: ReadonlyMap<string, boolean>): readonly string[] {
  return [...resources].filter(([, done]) => !done).map(([resource]) => resource)
}

function own(code: OwnCode, message: string): NotReadyReason {
  return { code, message }
}

function noWatch(resource: string, failure: RequestFailure | undefined): NotReadyReason {
  const message = `no watch on ${resource} is open`
  if (failure === undefined) return own('not-watched', message)
  return { code: failure.reason, message: `${message}: ${failure.description}` }
}

function silentServer({ reason: code, description }: RequestFailure): NotReadyReason {
  return { code, message: `the API server is silent: ${description}` }
}

function stuckChange(kernel: ReadinessFacts['kernel']): NotReadyReason {
  const age = Math.max(...[...kernel.status.values()].map((family) => waitedMs(family, kernel.now)))
  const why = kernel.failure === undefined ? '' : `: ${kernel.failure}`
  const waited = `a change has waited ${Math.round(age / 1_000)} s to be written to the kernel`
  return own('change-waits', `${waited}${why}`)
}
