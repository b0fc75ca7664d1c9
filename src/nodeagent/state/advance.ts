import type { PodPlan } from '../plan/pod-plan.ts'
import { keepRunning } from './keep-running.ts'
import { outcomeOf } from './phase.ts'
import type { PodAction } from './pod-action.ts'
import type { ContainerState, NetworkState, PodState } from './pod-state.ts'
import { stopContainer } from './stop-container.ts'
import { beginTurn, type Turn } from './turn.ts'

export interface Advance {
  readonly state: PodState
  readonly actions: readonly PodAction[]
  /** When to look again although nothing happened; Infinity: never. */
  readonly wakeAt: number
}

/**
 * What is to be done for a Pod now. The state that comes back has these actions
 * marked as begun, so a second call at once returns none. Pure.
 */
export function advance(plan: PodPlan, state: PodState, now: number): Advance {
  const turn = beginTurn(now)
  const next = step(plan, state, turn)
  return { state: next, actions: turn.actions, wakeAt: turn.wakeAt }
}

/** Nothing of it runs here any more, and it is not to run again. */
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
  const each = (container: ContainerState): ContainerState => keepRunning(plan, container, turn)
  return { ...state, containers: state.containers.map(each) }
}

/** A Pod of which nothing can be run needs no address. */
function connect(plan: PodPlan, network: NetworkState, turn: Turn): NetworkState {
  const isRunnable = plan.containers.some(({ fault }) => fault === undefined)
  if (network.phase !== 'none' || !isRunnable || !turn.isDue(network.retryAt)) return network
  turn.actions.push({ do: 'connect' })
  return { ...network, phase: 'making' }
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
