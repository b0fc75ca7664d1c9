import type { PodPlan } from '../plan/pod-plan.ts'
import { PROBE_KINDS } from '../plan/probe-plan.ts'
import type { ContainerState } from './pod-state.ts'
import { runProbes } from './probing.ts'
import { isToRun } from './restart.ts'
import { stopContainer } from './stop-container.ts'
import type { Turn } from './turn.ts'

/** Starts the containers that are to run, probes them, and stops those that failed. */
export function keepRunning(plan: PodPlan, container: ContainerState, turn: Turn): ContainerState {
  const own = plan.containers.find(({ name }) => name === container.name)
  if (own === undefined || own.fault !== undefined) return container
  if (container.phase === 'idle') {
    const isWanted = isToRun(plan.restartPolicy, container) && turn.isDue(container.retryAt)
    return isWanted ? start(container, turn) : container
  }
  if (container.phase === 'starting') return container
  const failed = PROBE_KINDS.find(
    (kind) => kind !== 'readiness' && container.probes[kind]?.verdict === 'fail',
  )
  if (container.stop !== undefined) return stopContainer(plan, container, Infinity, turn)
  if (failed === undefined) return runProbes(own, container, PROBE_KINDS, turn)
  const graceMs = own.probes[failed]?.graceMs ?? plan.graceMs
  return stopContainer(plan, container, turn.now + graceMs, turn)
}

function start(container: ContainerState, turn: Turn): ContainerState {
  const run = container.run + 1
  turn.actions.push({ do: 'start', container: container.name, run })
  return { ...container, phase: 'starting' }
}
