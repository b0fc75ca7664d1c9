import type { JsonObject } from '../../lib/json.ts'
import { NAMES } from '../../resources/names.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

/** What controllers need to know of a Node. */
export interface NodeObject {
  readonly meta: ObjectMeta
  /** Empty when unknown. */
  readonly zone: string
}

export function readNode(object: JsonObject): NodeObject {
  const meta = readMeta(object)
  const label = NAMES.zone.find((name) => Object.hasOwn(meta.labels, name))
  return { meta, zone: label === undefined ? '' : (meta.labels[label] ?? '') }
}
