import { parseIp } from '../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import type { ContainerPlan } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import {
  type ContainerEnd,
  type ContainerState,
  newContainerState,
  newPodState,
  type PodState,
} from './pod-state.ts'

const LOST_EXIT_CODE = 137

/**
 * The state of a Pod from the status that an earlier node agent left. Nothing of it runs any more; containers
 * that were running have ended with an unknown result.
 */
export function restorePodState(plan: PodPlan, object: JsonObject, now: number): PodState {
  const status = valueAt(object, 'status')
  const phase = stringAt(status, 'phase')
  const fresh = newPodState(plan, now)
  const addresses = arrayAt(status, 'podIPs').map((one) => parseIp(stringAt(one, 'ip')))
  const ips = plan.hostNetwork ? [] : addresses.filter((ip) => ip !== undefined)
  const statuses = arrayAt(status, 'containerStatuses')
  return {
    ...fresh,
    startedAt: timeAt(status, 'startTime') || now,
    network: { ...fresh.network, ips },
    outcome: phase === 'Succeeded' || phase === 'Failed' ? phase : undefined,
    containers: plan.containers.map((container) => {
      const own = statuses.find((one) => stringAt(one, 'name') === container.name)
      return own === undefined ? newContainerState(container) : restored(container, own, now)
    }),
  }
}

function restored(plan: ContainerPlan, status: Json, now: number): ContainerState {
  const running = valueAt(status, 'state', 'running')
  const ended = valueAt(status, 'state', 'terminated')
  const last = readEnd(valueAt(status, 'lastState', 'terminated'))
  const restarts = numberAt(status, 'restartCount')
  const present = running === undefined ? readEnd(ended) : lost(running, now)
  const end = present ?? last
  const run = end === undefined ? 0 : restarts + 1
  return { ...newContainerState(plan), run, end, endBefore: present && last }
}

function lost(running: Json, now: number): ContainerEnd {
  return {
    exitCode: LOST_EXIT_CODE,
    signal: 0,
    reason: 'ContainerStatusUnknown',
    message: 'The node agent ended while it ran.',
    startedAt: timeAt(running, 'startedAt') || now,
    finishedAt: now,
  }
}

function readEnd(terminated: Json | undefined): ContainerEnd | undefined {
  if (terminated === undefined) return undefined
  return {
    exitCode: numberAt(terminated, 'exitCode'),
    signal: numberAt(terminated, 'signal'),
    reason: stringAt(terminated, 'reason'),
    message: stringAt(terminated, 'message'),
    startedAt: timeAt(terminated, 'startedAt'),
    finishedAt: timeAt(terminated, 'finishedAt'),
  }
}

/** 0: none. */
function timeAt(value: Json | undefined, key: string): number {
  const time = Date.parse(stringAt(value, key))
  return Number.isNaN(time) ? 0 : time
}

/** 0: none. */
function numberAt(value: Json, key: string): number {
  const number = valueAt(value, key)
  return typeof number === 'number' && Number.isInteger(number) ? number : 0
}
