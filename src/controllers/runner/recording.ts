import { timestamp } from '../../lib/timestamp.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'
import type { Recording } from './write.ts'

/** What an Event says of an object. */
export interface Happening {
  /** Name of the controller that says it. */
  readonly controller: string
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  readonly reason: string
  /** One sentence. */
  readonly message: string
}

export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  readonly meta: ObjectMeta
}

/** The Event that tells people of `happening`; of objects without a namespace in `default`. */
export function recording(subject: EventSubject, happening: Happening, now: number): Recording {
  const { apiVersion, kind, meta } = subject
  const { controller, type, reason, message } = happening
  const namespace = meta.namespace || 'default'
  const at = timestamp(now)
  const { name, uid, version } = meta
  const place = meta.namespace === '' ? {} : { namespace }
  return {
    verb: 'record',
    namespace,
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${name}.`, namespace },
      involvedObject: { apiVersion, kind, ...place, name, uid, resourceVersion: version },
      type,
      reason,
      message,
      source: { component: `${controller}-controller` },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    },
  }
}
