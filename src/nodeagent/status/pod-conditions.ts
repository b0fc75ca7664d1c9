import { arrayAt, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { timestamp } from '../../lib/timestamp.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { outcomeOf } from '../state/phase.ts'
import type { PodState } from '../state/pod-state.ts'
import { isReady } from '../state/probing.ts'

interface Holding {
  readonly holds: boolean
  readonly reason?: string
  readonly message?: string
}

/** The conditions that the node decides; each keeps the time of its last change. */
export function podConditions(
  plan: PodPlan,
  state: PodState,
  { before, now }: { readonly before: JsonObject; readonly now: number },
): JsonObject[] {
  const known = arrayAt(before, 'conditions')
  const containers = containersReady(plan, state)
  const gate = plan.readinessGates.find((type) => statusOf(known, type) !== 'True')
  const all: readonly (readonly [type: string, holding: Holding])[] = [
    ['PodScheduled', { holds: true }],
    ['Initialized', { holds: true }],
    ['ContainersReady', containers],
    ['Ready', containers.holds && gate !== undefined ? gated(gate) : containers],
  ]
  return all.map(([type, { holds, reason, message }]) => {
    const status = holds ? 'True' : 'False'
    const old = known.find((one) => stringAt(one, 'type') === type)
    const isSame = stringAt(old, 'status') === status
    const lastTransitionTime = (isSame && stringAt(old, 'lastTransitionTime')) || timestamp(now)
    const why = reason === undefined ? {} : { reason, message: message ?? '' }
    return { type, status, ...why, lastTransitionTime }
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

function statusOf(conditions: readonly Json[], type: string): string {
  return stringAt(
    conditions.find((one) => stringAt(one, 'type') === type),
    'status',
  )
}
