import { timestamp } from '../../lib/duration.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { NODE_SILENT, READY } from '../../resources/label-names.ts'
import {
  readCondition,
  type StatusCondition,
  setCondition,
  type WantedCondition,
} from '../../resources/status-condition.ts'
import type { ContainerPlan } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import {
  type ContainerEnd,
  type ContainerState,
  isToRun,
  outcomeOf,
  type PodState,
  phaseOf,
} from '../state/pod-state.ts'
import { isReady, isStarted } from '../state/probing.ts'

/** What the status depends on in addition to the Pod. */
export interface StatusContext extends ConditionsContext {
  /** The addresses of the node; the first one is `hostIP`. */
  readonly hostIPs: readonly IpAddress[]
}

/** `status` of a Pod, as far as the node agent writes it. Pure. */
export function podStatus(plan: PodPlan, state: PodState, context: StatusContext): JsonObject {
  const { ips } = state.network
  return {
    phase: phaseOf(plan, state),
    conditions: podConditions(plan, state, context),
    ...addresses('host', context.hostIPs),
    ...(hasAddress(state) ? addresses('pod', ips) : {}),
    startTime: timestamp(state.startedAt),
    containerStatuses: plan.containers.map((container, index) => {
      return containerStatus(container, { plan, state }, state.containers[index])
    }),
  }
}

/** Whether the Pod has or had an address: a Pod that ended still shows its last one. */
function hasAddress({ network, containers }: PodState): boolean {
  return (
    network.ips.length > 0 && (network.phase !== 'none' || containers.some(({ run }) => run > 0))
  )
}

function addresses(whose: 'host' | 'pod', ips: readonly IpAddress[]): JsonObject {
  const [first] = ips
  if (first === undefined) return {}
  return { [`${whose}IP`]: first, [`${whose}IPs`]: ips.map((ip) => ({ ip })) }
}

interface Holding {
  readonly holds: boolean
  readonly reason?: string
  readonly message?: string
}

/** What the conditions depend on in addition to the Pod. */
interface ConditionsContext {
  readonly now: number
  /** The stored status of the Pod: unchanged conditions keep their times, and readiness gates are read from it. */
  readonly before: JsonObject
  /** Whether the server accepted a heartbeat of the node after `before` was read. */
  readonly isHeard: boolean
}

/**
 * The conditions that the node decides; each keeps the time of its last change. Readiness that a controller set
 * to false because the node was silent is left out until the server has accepted a heartbeat: only a heartbeat
 * restores it, so that the agent and the controller do not overwrite each other.
 */
function podConditions(
  plan: PodPlan,
  state: PodState,
  { before, now, isHeard }: ConditionsContext,
): JsonObject[] {
  const containers = containersReady(plan, state)
  const gate = plan.readinessGates.find((type) => readCondition(before, type).status !== 'True')
  const ready = containers.holds && gate !== undefined ? gated(gate) : containers
  const isLeft = ready.holds && !isHeard && isTaken(readCondition(before, READY))
  const all: readonly (readonly [type: string, holding: Holding])[] = [
    ['PodScheduled', { holds: true }],
    ['Initialized', { holds: true }],
    ['ContainersReady', containers],
    ...(isLeft ? [] : [[READY, ready] as const]),
  ]
  return all.map(([type, { holds, reason, message }]) => {
    const why = reason === undefined ? {} : { reason, message: message ?? '' }
    const wanted: WantedCondition = { type, status: holds ? 'True' : 'False', ...why }
    return setCondition(readCondition(before, type), wanted, now)
  })
}

function containersReady(plan: PodPlan, state: PodState): Holding {
  const outcome = outcomeOf(plan, state)
  if (outcome !== undefined) {
    const reason = outcome === 'Succeeded' ? 'PodCompleted' : 'PodFailed'
    return { holds: false, reason, message: 'The containers have ended for good.' }
  }
  const unready = state.containers.filter((one) => !isReady(one)).map(({ name }) => name)
  if (unready.length === 0) return { holds: true }
  const message = `containers with unready status: [${unready.join(' ')}]`
  return { holds: false, reason: 'ContainersNotReady', message }
}

function gated(gate: string): Holding {
  const message = `the status of pod readiness gate "${gate}" is not "True"`
  return { holds: false, reason: 'ReadinessGatesNotReady', message }
}

function isTaken({ status, reason }: StatusCondition): boolean {
  return status === 'False' && reason === NODE_SILENT
}

/** The Pod of a container, as planned and as it is. */
interface PodOfContainer {
  readonly plan: PodPlan
  readonly state: PodState
}

/** One entry of `status.containerStatuses`. */
function containerStatus(
  plan: ContainerPlan,
  pod: PodOfContainer,
  container: ContainerState | undefined,
): JsonObject {
  const { name, image } = plan
  const shared = { name, image, imageID: '' }
  if (container === undefined) {
    const state = waiting('ContainerCreating', '')
    return { ...shared, ready: false, started: false, restartCount: 0, state, lastState: {} }
  }
  const state = presentState(plan, pod, container)
  const past = 'terminated' in state ? container.endBefore : container.end
  return {
    ...shared,
    ...(container.phase === 'running' ? { containerID: `process://${container.pid}` } : {}),
    ready: isReady(container),
    started: isStarted(container),
    restartCount: Math.max(0, container.run - 1),
    state,
    lastState: past === undefined ? {} : terminated(past),
  }
}

function presentState(
  plan: ContainerPlan,
  pod: PodOfContainer,
  container: ContainerState,
): JsonObject {
  const { phase, startedAt, end, refusal, isUnconfigured } = container
  if (phase === 'running') return { running: { startedAt: timestamp(startedAt) } }
  if (end !== undefined && !isDelayed(pod, container)) return terminated(end)
  if (plan.fault !== undefined) return waiting('CreateContainerConfigError', plan.fault)
  if (refusal !== '') {
    return waiting(isUnconfigured ? 'CreateContainerConfigError' : 'RunContainerError', refusal)
  }
  if (end !== undefined) return waiting('CrashLoopBackOff', backOff(container))
  return waiting('ContainerCreating', pod.state.network.problem || pod.state.volumes.problem)
}

/** Whether the next run of the container comes after a delay. One that starts again at once still shows how it ended. */
function isDelayed({ plan, state }: PodOfContainer, container: ContainerState): boolean {
  const { end, retryAt } = container
  if (state.stop !== undefined || !isToRun(plan.restartPolicy, container)) return false
  return end !== undefined && retryAt > end.finishedAt
}

function backOff({ name, end, retryAt }: ContainerState): string {
  const seconds = Math.round((retryAt - (end?.finishedAt ?? retryAt)) / 1000)
  return `back-off ${seconds}s restarting failed container ${name}`
}

function waiting(reason: string, message: string): JsonObject {
  return { waiting: { reason, ...(message === '' ? {} : { message }) } }
}

function terminated(end: ContainerEnd): JsonObject {
  const { exitCode, signal, reason, message, startedAt, finishedAt } = end
  return {
    terminated: {
      exitCode,
      ...(signal === 0 ? {} : { signal }),
      reason,
      ...(message === '' ? {} : { message }),
      startedAt: timestamp(startedAt),
      finishedAt: timestamp(finishedAt),
    },
  }
}
