import type { PodPlan } from '../plan/pod-plan.ts'
import type { ContainerState, ContainerStop } from './pod-state.ts'
import { runProbes } from './probing.ts'
import type { Turn } from './turn.ts'

/**
 * Brings a container to its end: its hook, SIGTERM, and SIGKILL at the deadline,
 * which another call may only bring forward. Its readiness is probed until then,
 * so that endpoints see it leave.
 */
export function stopContainer(
  plan: PodPlan,
  container: ContainerState,
  deadline: number,
  turn: Turn,
): ContainerState {
  if (container.phase !== 'running') return container
  const own = plan.containers.find(({ name }) => name === container.name)
  const hasHook = own?.preStop !== undefined
  const before = container.stop
  const until = Math.min(deadline, before?.deadline ?? Number.POSITIVE_INFINITY)
  const stage = nextStage(before?.stage, hasHook, () => turn.isDue(until))
  if (stage !== before?.stage) act(container, stage, turn)
  const stopping = { ...container, stop: { stage, deadline: until } }
  if (own === undefined || stage === 'kill') return stopping
  return runProbes(own, stopping, ['readiness'], turn)
}

type Stage = ContainerStop['stage']

function nextStage(stage: Stage | undefined, hasHook: boolean, isLate: () => boolean): Stage {
  if (stage === 'kill' || isLate()) return 'kill'
  if (stage === undefined) return hasHook ? 'hook' : 'term'
  return stage === 'hooked' ? 'term' : stage
}

function act({ name: container, run }: ContainerState, stage: Stage, turn: Turn): void {
  if (stage === 'hook') turn.actions.push({ do: 'hook', container, run })
  if (stage === 'term') turn.actions.push({ do: 'signal', container, run, signal: 'SIGTERM' })
  if (stage === 'kill') turn.actions.push({ do: 'signal', container, run, signal: 'SIGKILL' })
}
