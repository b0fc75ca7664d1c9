import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** 400 for a Pod that has ended for good; undefined: it has not. */
export function isOver(pod: JsonObject): StatusError | undefined {
  const phase = stringAt(pod, 'status', 'phase')
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined
  return badRequest(`the pod has ended: its phase is ${phase}`)
}
