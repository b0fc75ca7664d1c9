import type { JsonObject } from '../../lib/json.ts'
import { NODE_SILENT, READY } from '../../resources/condition-names.ts'
import {
  readCondition,
  type StatusCondition,
  setCondition,
  type WantedCondition,
} from '../../resources/status-condition.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { outcomeOf } from '../state/phase.ts'
import type { PodState } from '../state/pod-state.ts'
import { isReady } from '../state/probing.ts'

interface Holding {
  readonly holds: boolean
  readonly reason?: string
  readonly message?: string
}

/** What conditions depend on besides the Pod. */
export interface ConditionsContext {
  readonly now: number
  /** The stored status of the Pod: unchanged conditions keep their times, and readiness gates are read from it. */
  readonly before: JsonObject
  /** Whether the server accepted a heartbeat of the node after `before` was read. */
  readonly isHeard: boolean
}

/**
 * The conditions that the node decides; each keeps the time of its last change.
 * Readiness that was taken from a silent node is left out until the node is heard:
 * only a heartbeat restores it, so that the agent and the controller do not overwrite each other.
 */
export function podConditions(
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
