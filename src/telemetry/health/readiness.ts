import type { Condition } from './conditions.ts'
import { type HealthReport, waitedMs } from './health.ts'

/** The inputs of readiness. */
export interface ReadinessFacts {
  /** Resources by name, and whether a watch on them is open. */
  readonly connected: ReadonlyMap<string, boolean>
  /** Resources by name, and why requests for them fail at present, with the remedy. */
  readonly apiFailures: ReadonlyMap<string, string>
  /** Why the API server, whose watches are open, is silent; undefined while it answers. */
  readonly silence: string | undefined
  /** Resources by name, and whether they have been listed completely. */
  readonly synced: ReadonlyMap<string, boolean>
  /** The first complete run is done. */
  readonly applied: boolean
  /** How far behind the kernel is. */
  readonly kernel: Pick<HealthReport, 'now' | 'healthy' | 'status' | 'failure'>
  readonly conditions: readonly Condition[]
}

/** Whether the daemon is ready, and why not. */
export interface Readiness {
  readonly ready: boolean
  /** Why it is not ready, the most fundamental reason first. */
  readonly reasons: readonly string[]
  /** Conditions that do not block readiness. */
  readonly warnings: readonly string[]
}

/**
 * The daemon is ready when its watches are open and the API server answers, all resources are listed, the rules are in
 * the kernel, no change waits for too long, and no condition blocks readiness.
 */
export function assessReadiness(facts: ReadinessFacts): Readiness {
  const missing = (map: ReadonlyMap<string, boolean>) =>
    [...map].filter(([, done]) => !done).map(([resource]) => resource)
  const reasons = [
    ...missing(facts.connected).map((resource) => noWatch(resource, facts.apiFailures)),
    ...(facts.silence === undefined ? [] : [`the API server is silent: ${facts.silence}`]),
    ...missing(facts.synced).map((resource) => `${resource} are not listed yet`),
    ...(facts.connected.size === 0 ? ['not connected to the API server yet'] : []),
    ...(facts.applied ? [] : ['the rules are not in the kernel yet']),
    ...(facts.kernel.healthy ? [] : [stuckChange(facts.kernel)]),
    ...messages(facts.conditions, true),
  ]
  return { ready: reasons.length === 0, reasons, warnings: messages(facts.conditions, false) }
}

function stuckChange(kernel: ReadinessFacts['kernel']): string {
  const age = Math.max(...[...kernel.status.values()].map((family) => waitedMs(family, kernel.now)))
  const why = kernel.failure === undefined ? '' : `: ${kernel.failure}`
  return `a change has waited ${Math.round(age / 1_000)} s to be written to the kernel${why}`
}

function noWatch(resource: string, apiFailures: ReadinessFacts['apiFailures']): string {
  const failure = apiFailures.get(resource)
  return `no watch on ${resource} is open${failure === undefined ? '' : `: ${failure}`}`
}

function messages(conditions: readonly Condition[], blocking: boolean): readonly string[] {
  return conditions
    .filter(({ blocksReadiness }) => blocksReadiness === blocking)
    .map(({ message }) => message)
}
