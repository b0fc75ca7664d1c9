import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, stringAt } from '../../lib/json.ts'
import { NAMES } from '../../resources/names.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** What controllers need to know of a Node. */
export interface NodeObject {
  readonly meta: ObjectMeta
  /** Empty when unknown. */
  readonly zone: string
  /** Its Ready condition; texts are empty where it says nothing, all of them when there is none. */
  readonly ready: {
    /** `True`, `False` or `Unknown`. */
    readonly status: string
    readonly reason: string
    /** When the node said so last, RFC 3339. */
    readonly heartbeatAt: string
  }
}

export function readNode(object: JsonObject): NodeObject {
  const meta = readMeta(object)
  const label = NAMES.zone.find((name) => Object.hasOwn(meta.labels, name))
  const conditions = arrayAt(object, 'status', 'conditions')
  const ready = conditions.find((one) => stringAt(one, 'type') === 'Ready')
  return {
    meta,
    zone: label === undefined ? '' : (meta.labels[label] ?? ''),
    ready: {
      status: stringAt(ready, 'status'),
      reason: stringAt(ready, 'reason'),
      heartbeatAt: stringAt(ready, 'lastHeartbeatTime'),
    },
  }
}
