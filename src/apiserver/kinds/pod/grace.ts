import { type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'

/** What a Pod gets whose spec does not name a grace period. */
const DEFAULT_GRACE_SECONDS = 30

/**
 * Seconds that a Pod has to end: its node ends it, and then deletes it without grace. One that is
 * on no node, or has ended, needs none.
 */
export function podGraceSeconds(pod: JsonObject, requested: number | undefined): number {
  const phase = stringAt(pod, 'status', 'phase')
  const isIdle = stringAt(pod, 'spec', 'nodeName') === ''
  if (isIdle || phase === 'Succeeded' || phase === 'Failed') return 0
  const own = objectAt(pod, 'spec')['terminationGracePeriodSeconds']
  return requested ?? (typeof own === 'number' ? own : DEFAULT_GRACE_SECONDS)
}
