import type { JsonObject } from '../../lib/json.ts'
import { objectAt, stringAt } from '../../lib/json.ts'
import { READY } from '../../resources/condition-names.ts'
import { NAMES } from '../../resources/names.ts'
import {
  findCondition,
  readCondition,
  type StatusCondition,
} from '../../resources/status-condition.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** What controllers need to know of a Node. */
export interface NodeObject {
  readonly meta: ObjectMeta
  /** Empty when unknown. */
  readonly zone: string
  readonly ready: StatusCondition
  /** When the node said last whether it is ready, RFC 3339; empty when it never did. */
  readonly heartbeatAt: string
}

export function readNode(object: JsonObject): NodeObject {
  const meta = readMeta(object)
  const label = NAMES.zone.find((name) => Object.hasOwn(meta.labels, name))
  const status = objectAt(object, 'status')
  return {
    meta,
    zone: label === undefined ? '' : (meta.labels[label] ?? ''),
    ready: readCondition(status, READY),
    heartbeatAt: stringAt(findCondition(status, READY), 'lastHeartbeatTime'),
  }
}
