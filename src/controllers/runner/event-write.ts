import { coreEvent, eventNamespace } from '../../resources/core-event.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'
import type { EventWrite } from './write.ts'

/** The content of an Event. */
export interface EventContent {
  /** The name of the controller that reports the Event. */
  readonly controller: string
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  readonly reason: string
  /** One sentence. */
  readonly message: string
}

/** The object that an Event is about. */
export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  readonly meta: ObjectMeta
}

/** The write of an Event about `subject`. `now`: milliseconds since the epoch. */
export function eventWrite(subject: EventSubject, content: EventContent, now: number): EventWrite {
  const { apiVersion, kind, meta } = subject
  const { controller, type, reason, message } = content
  const { name, uid, version } = meta
  const namespace = meta.namespace || undefined
  const regarding = { apiVersion, kind, name, namespace, uid, resourceVersion: version }
  const seen = { first: now, last: now, count: 1 }
  return {
    verb: 'record',
    namespace: eventNamespace(regarding),
    body: coreEvent({
      regarding,
      type,
      reason,
      message,
      component: `${controller}-controller`,
      ...seen,
    }),
  }
}
