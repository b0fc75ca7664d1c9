import type { JsonObject } from '../../lib/json.ts'
import { timestamp } from '../../lib/timestamp.ts'
import type { ContainerPlan } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import type { ContainerEnd, ContainerState, PodState } from '../state/pod-state.ts'
import { isReady, isStarted } from '../state/probing.ts'
import { isToRun } from '../state/restart.ts'

/** The Pod of a container, as planned and as it is. */
export interface PodOfContainer {
  readonly plan: PodPlan
  readonly state: PodState
}

/** One entry of `status.containerStatuses`. */
export function containerStatus(
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
  if (end !== undefined && !isComing(pod, container)) return terminated(end)
  if (plan.fault !== undefined) return waiting('CreateContainerConfigError', plan.fault)
  if (refusal !== '') {
    return waiting(isUnconfigured ? 'CreateContainerConfigError' : 'RunContainerError', refusal)
  }
  if (end !== undefined) return waiting('CrashLoopBackOff', backOff(container))
  return waiting('ContainerCreating', pod.state.network.problem || pod.state.volumes.problem)
}

/** It waits for its next run, after a delay that is known. */
function isComing({ plan, state }: PodOfContainer, container: ContainerState): boolean {
  const { phase, end, retryAt } = container
  if (state.stop !== undefined || !isToRun(plan.restartPolicy, container)) return false
  return phase === 'starting' || (end !== undefined && retryAt > end.finishedAt)
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
