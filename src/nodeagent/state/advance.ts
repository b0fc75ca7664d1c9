import type { PodPlan } from '../plan/pod-plan.ts'
import { keepRunning } from './keep-running.ts'
import { outcomeOf } from './phase.ts'
import type { PodAction } from './pod-action.ts'
import type { ContainerState, NetworkState, PodState, VolumesState } from './pod-state.ts'
import { stopContainer } from './stop-container.ts'
import { beginTurn, type Turn } from './turn.ts'

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
