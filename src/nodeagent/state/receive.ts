import type { ContainerPlan } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { PodEvent } from './pod-event.ts'
import {
  afterEnd,
  afterRefusal,
  type ContainerState,
  newProbes,
  type PodState,
} from './pod-state.ts'
import { judged } from './probing.ts'

/** The delay before the next attempt to make the network of a Pod. */
const RETRY_NETWORK_MS = 5_000
/** The longest delay between two attempts to make the volumes of a Pod, as in the kubelet. */
const MAX_VOLUMES_DELAY_MS = 122_000

/** The state of a Pod after an event. `now` is milliseconds since the epoch. */
export function receive(plan: PodPlan, state: PodState, event: PodEvent, now: number): PodState {
  const { network, volumes } = state
  if ('container' in event) {
    return {
      ...state,
      containers: state.containers.map((one) => afterContainerEvent(plan, one, event, now)),
    }
  }
  switch (event.is) {
    case 'connected':
      return { ...state, network: { ...network, phase: 'made', ips: event.ips, problem: '' } }
    case 'unconnected': {
      const retryAt = now + RETRY_NETWORK_MS
      return { ...state, network: { ...network, phase: 'none', problem: event.message, retryAt } }
    }
    case 'disconnected':
      return { ...state, network: { ...network, phase: 'none' } }
    case 'mounted':
      return { ...state, volumes: { ...volumes, phase: 'made', problem: '' } }
    case 'unmounted': {
      const delayMs = Math.min(2 * volumes.delayMs, MAX_VOLUMES_DELAY_MS)
      const waiting = { problem: event.message, delayMs, retryAt: now + volumes.delayMs }
      return { ...state, volumes: { phase: 'none', ...waiting } }
    }
    case 'noticed':
      return state
    case 'stopped': {
      const deadline = Math.min(now + event.graceMs, state.stop?.deadline ?? Infinity)
      return { ...state, stop: { deadline } }
    }
  }
}

type ContainerEvent = Extract<PodEvent, { readonly container: string }>

/** The container after an event; unchanged by an event of another container or of an earlier run. */
function afterContainerEvent(
  plan: PodPlan,
  state: ContainerState,
  event: ContainerEvent,
  now: number,
): ContainerState {
  const own = plan.containers.find(({ name }) => name === event.container)
  if (own === undefined || state.name !== event.container) return state
  const isNew = event.is === 'started' || event.is === 'refused'
  if (event.run !== (isNew ? state.run + 1 : state.run)) return state
  return afterRunEvent(own, state, event, now)
}

/** The container after an event of its present run, or of the run that begins. */
function afterRunEvent(
  plan: ContainerPlan,
  state: ContainerState,
  event: ContainerEvent,
  now: number,
): ContainerState {
  switch (event.is) {
    case 'started': {
      const { run, pid } = event
      const probes = newProbes(plan, now)
      return { ...state, phase: 'running', run, pid, startedAt: now, refusal: '', probes }
    }
    case 'refused':
      return {
        ...afterRefusal(state, event.message, now),
        isUnconfigured: event.isUnconfigured === true,
      }
    case 'ended':
      return afterEnd(state, event, now)
    case 'hooked':
      return state.stop?.stage === 'hook'
        ? { ...state, stop: { ...state.stop, stage: 'hooked' } }
        : state
    case 'probed': {
      const [probe, rule] = [state.probes[event.kind], plan.probes[event.kind]]
      if (probe === undefined || rule === undefined) return state
      return { ...state, probes: { ...state.probes, [event.kind]: judged(probe, rule, event) } }
    }
  }
}
