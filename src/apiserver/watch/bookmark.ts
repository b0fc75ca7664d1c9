import type { JsonObject } from '../../lib/json.ts'
import { encodeStored } from '../encoding/codec.ts'
import type { Representation } from '../negotiation/answer-form.ts'
import { eventFrame } from './event-frame.ts'

const INITIAL_EVENTS_END = { annotations: { 'k8s.io/initial-events-end': 'true' } }

/** How far a watch has come: an object that is nothing but a revision, in the client's representation. */
export function bookmark(representation: Representation, revision: number): Buffer {
  return frame(representation, revision, {})
}

/** The bookmark behind the initial objects. */
export function initialEventsEnd(representation: Representation, revision: number): Buffer {
  return frame(representation, revision, INITIAL_EVENTS_END)
}

function frame(representation: Representation, revision: number, metadata: JsonObject): Buffer {
  const value = encodeStored({ metadata: { creationTimestamp: null, ...metadata } })
  return eventFrame('BOOKMARK', representation.event({ value, revision }, false))
}
