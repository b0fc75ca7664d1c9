import type { PodPlan } from '../plan/pod-plan.ts'
import type { ContainerState, PodState } from './pod-state.ts'

/** `status.phase`. */
export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed'

/** `status.phase`, by the rules of Kubernetes (kubelet, getPhase). */
export function phaseOf(plan: PodPlan, state: PodState): Phase {
  const outcome = outcomeOf(plan, state)
  if (outcome !== undefined) return outcome
  return state.containers.some(hasNeverRun) ? 'Pending' : 'Running'
}

/** How the Pod ended; undefined while a container runs or may run again. */
export function outcomeOf(
  { restartPolicy }: PodPlan,
  { containers, outcome }: PodState,
): 'Succeeded' | 'Failed' | undefined {
  if (outcome !== undefined) return outcome
  if (restartPolicy === 'Always' || containers.length === 0) return undefined
  if (containers.some((one) => one.phase !== 'idle' || one.end === undefined)) return undefined
  if (containers.every(({ end }) => end?.exitCode === 0)) return 'Succeeded'
  return restartPolicy === 'Never' ? 'Failed' : undefined
}

/** Whether the container has never run. */
function hasNeverRun({ phase, end }: ContainerState): boolean {
  return phase !== 'running' && end === undefined
}
