import { timestamp } from '../lib/duration.ts'
import { arrayAt, type Json, type JsonObject, stringAt } from '../lib/json.ts'

/** One of `status.conditions`; a text that is absent in the object is empty here. */
export interface StatusCondition {
  readonly type: string
  /** `True`, `False` or `Unknown`. */
  readonly status: string
  /** UpperCamelCase, stable: programs identify the reporter by it. */
  readonly reason: string
  readonly message: string
  /** The time when `status` got its present value, RFC 3339. */
  readonly lastTransitionTime: string
}

/** The condition to write. `null` removes a text; a text that is absent here is not changed. */
export interface WantedCondition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason?: string | null
  readonly message?: string | null
}

/** The condition as it is in the object; it may have further fields, such as the time of a heartbeat. */
export function findCondition(status: Json | undefined, type: string): Json | undefined {
  return arrayAt(status, 'conditions').find((one) => stringAt(one, 'type') === type)
}

/** The condition of one type in the `status` of an object. */
export function readCondition(status: Json | undefined, type: string): StatusCondition {
  const found = findCondition(status, type)
  return {
    type,
    status: stringAt(found, 'status'),
    reason: stringAt(found, 'reason'),
    message: stringAt(found, 'message'),
    lastTransitionTime: stringAt(found, 'lastTransitionTime'),
  }
}

/** Whether the known condition has the wanted status and, if given, reason and message. */
export function conditionMatches(known: StatusCondition, wanted: WantedCondition): boolean {
  const { status, reason = known.reason, message = known.message } = wanted
  return (
    known.status === status && known.reason === (reason ?? '') && known.message === (message ?? '')
  )
}

/**
 * The element of `status.conditions` for a strategic merge patch, which merges conditions by their type.
 * `lastTransitionTime` is kept if only reason or message change; otherwise it is `now`, in milliseconds since the
 * epoch.
 */
export function setCondition(
  known: StatusCondition,
  wanted: WantedCondition,
  now: number,
): JsonObject {
  const isSame = known.status === wanted.status
  const lastTransitionTime = (isSame && known.lastTransitionTime) || timestamp(now)
  return { ...wanted, lastTransitionTime }
}
