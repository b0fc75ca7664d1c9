import type { ContainerPlan, ProbeKind, ProbePlan } from '../plan/container-plan.ts'
import type { PodAction, ProbeResult } from './pod-event.ts'
import type { ContainerState, ProbeState } from './pod-state.ts'

/** Collects the actions of one call of `advance`, and the time of the next one. */
export interface Turn {
  readonly now: number
  readonly actions: PodAction[]
  /** The earliest future time that `isDue` was called with; Infinity: none. */
  readonly wakeAt: number
  /** Whether `time` has come; otherwise `wakeAt` is not later than it. */
  isDue(time: number): boolean
}

/** Runs the probes of a running container that are due; only the startup probe until that has passed. */
export function runProbes(
  plan: ContainerPlan,
  container: ContainerState,
  kinds: readonly ProbeKind[],
  turn: Turn,
): ContainerState {
  let next = container
  for (const kind of kinds) {
    const [rule, probe] = [plan.probes[kind], container.probes[kind]]
    if (rule === undefined || probe === undefined || !isDue(container, kind)) continue
    if (probe.isBusy || !turn.isDue(probe.nextAt)) continue
    turn.actions.push({ do: 'probe', container: container.name, run: container.run, kind })
    const begun = { ...probe, isBusy: true, nextAt: turn.now + rule.periodMs }
    next = { ...next, probes: { ...next.probes, [kind]: begun } }
  }
  return next
}

/** Its startup probe, if it has one, has passed once. */
export function isStarted({ phase, probes }: ContainerState): boolean {
  return phase === 'running' && (probes.startup?.verdict ?? 'pass') === 'pass'
}

/** It runs, has started up, and its readiness probe, if it has one, passes. */
export function isReady(container: ContainerState): boolean {
  return isStarted(container) && (container.probes.readiness?.verdict ?? 'pass') === 'pass'
}

/** The state of a probe after one more answer; its result changes only after several equal answers in a row. */
export function judged(probe: ProbeState, plan: ProbePlan, { outcome }: ProbeResult): ProbeState {
  if (outcome === 'unknown') return { ...probe, isBusy: false }
  const passes = outcome === 'pass' ? probe.passes + 1 : 0
  const failures = outcome === 'fail' ? probe.failures + 1 : 0
  const isCertain = passes >= plan.successThreshold || failures >= plan.failureThreshold
  const verdict = isCertain ? outcome : probe.verdict
  return { ...probe, isBusy: false, passes, failures, verdict }
}

function isDue(container: ContainerState, kind: ProbeKind): boolean {
  return kind === 'startup' ? !isStarted(container) : isStarted(container)
}

/** A turn without actions. `now`: milliseconds since the epoch. */
export function beginTurn(now: number): Turn {
  const actions: PodAction[] = []
  let wakeAt = Number.POSITIVE_INFINITY
  return {
    now,
    actions,
    get wakeAt() {
      return wakeAt
    },
    isDue(time) {
      if (time > now) wakeAt = Math.min(wakeAt, time)
      return time <= now
    },
  }
}
