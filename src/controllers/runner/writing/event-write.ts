import { coreEvent, eventNamespace } from '../../../resources/core-event.ts'
import type { ObjectMeta } from '../../objects/object-meta.ts'
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

/** The Event that tells people of `happening`. */
export function recording(subject: EventSubject, happening: Happening, now: number): Recording {
  const { apiVersion, kind, meta } = subject
  const { controller, type, reason, message } = happening
  const { name, uid, version } = meta
  const namespace = meta.namespace || undefined
  const regarding = { apiVersion, kind, name, namespace, uid, resourceVersion: version }
  const seen = { first: now, last: now, count: 1 }
  return {
    verb: 'record',
    namespace: eventNamespace(regarding),
    body: coreEvent({
      ...{ regarding, type, reason, message },
      ...{ component: `${controller}-controller`, ...seen },
    }),
  }
}
