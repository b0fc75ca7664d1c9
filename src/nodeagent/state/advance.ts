import { PROBE_KINDS } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { PodAction } from './pod-event.ts'
import {
  type ContainerState,
  type ContainerStop,
  isToRun,
  type NetworkState,
  outcomeOf,
  type PodState,
  type VolumesState,
} from './pod-state.ts'
import { beginTurn, runProbes, type Turn } from './probing.ts'

/** The next state of a Pod, and what to do. */
export interface Advance {
  readonly state: PodState
  readonly actions: readonly PodAction[]
  /** When to call `advance` again at the latest, milliseconds since the epoch; Infinity: only after an event. */
  readonly wakeAt: number
}

/**
 * Decides what to do for a Pod at `now`. The returned state has the actions marked as begun, so a second call at the
 * same time returns none. Pure.
 */
export function advance(plan: PodPlan, state: PodState, now: number): Advance {
  const turn = beginTurn(now)
  const next = step(plan, state, turn)
  return { state: next, actions: turn.actions, wakeAt: turn.wakeAt }
}

/** Whether a stopped Pod has no process and no network any more. */
export function isFinished({ stop, network, containers }: PodState): boolean {
  return stop !== undefined && network.phase === 'none' && containers.every(isIdle)
}

function step(plan: PodPlan, state: PodState, turn: Turn): PodState {
  const { network, stop } = state
  if (stop !== undefined) {
    const each = (container: ContainerState): ContainerState =>
      stopContainer(plan, container, stop.deadline, turn)
    return withoutNetwork({ ...state, containers: state.containers.map(each) }, turn)
  }
  if (outcomeOf(plan, state) !== undefined) return withoutNetwork(state, turn)
  if (network.phase !== 'made') return { ...state, network: connect(plan, network, turn) }
  if (state.volumes.phase !== 'made') return { ...state, volumes: mount(state.volumes, turn) }
  const each = (container: ContainerState): ContainerState => keepRunning(plan, container, turn)
  return { ...state, containers: state.containers.map(each) }
}

/** Begins to make the network, unless no container can be run. */
function connect(plan: PodPlan, network: NetworkState, turn: Turn): NetworkState {
  const isRunnable = plan.containers.some(({ fault }) => fault === undefined)
  if (network.phase !== 'none' || !isRunnable || !turn.isDue(network.retryAt)) return network
  turn.actions.push({ do: 'connect' })
  return { ...network, phase: 'making' }
}

/** Begins to make the volumes. */
function mount(volumes: VolumesState, turn: Turn): VolumesState {
  if (volumes.phase !== 'none' || !turn.isDue(volumes.retryAt)) return volumes
  turn.actions.push({ do: 'mount' })
  return { ...volumes, phase: 'making' }
}

function withoutNetwork(state: PodState, turn: Turn): PodState {
  const { network, containers } = state
  if (network.phase !== 'made' || !containers.every(isIdle)) return state
  turn.actions.push({ do: 'disconnect' })
  return { ...state, network: { ...network, phase: 'removing' } }
}

function isIdle({ phase }: ContainerState): boolean {
  return phase === 'idle'
}

/** Starts the containers that are to run, probes them, and stops those that failed. */
function keepRunning(plan: PodPlan, container: ContainerState, turn: Turn): ContainerState {
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

/**
 * Ends a container: its hook, SIGTERM, and SIGKILL at the deadline, which another call can only move forward.
 * Its readiness is probed until then, so that endpoints reflect it.
 */
function stopContainer(
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
