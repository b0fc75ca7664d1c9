import { timestamp } from '../lib/duration.ts'
import type { JsonObject } from '../lib/json.ts'

/** The object that an Event is about. */
export interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined
  readonly uid: string | undefined
  readonly resourceVersion?: string | undefined
}

/** The content of an Event. */
export interface EventReport {
  readonly regarding: ObjectReference
  readonly type: 'Normal' | 'Warning'
  /** UpperCamelCase, stable: people select events by it. */
  readonly reason: string
  /** One sentence; it is cut after 1,024 characters. */
  readonly message: string
  /** The program that reports it, and the node of that program. */
  readonly component: string
  readonly host?: string
  /** Times of the first and last occurrence, in milliseconds since the epoch; and the number of occurrences. */
  readonly first: number
  readonly last: number
  readonly count: number
}

const MAX_MESSAGE_LENGTH = 1_024
const MAX_NAME_LENGTH = 253

/** The namespace of an Event about an object: that of the object, or `default`. */
export function eventNamespace({ namespace }: ObjectReference): string {
  return namespace ?? 'default'
}

/**
 * A v1 Event as it is posted. Its name is that of the object with `suffix`; without `suffix` the server generates one.
 */
export function coreEvent(report: EventReport, suffix?: string): JsonObject {
  const { regarding, type, reason, component, host } = report
  const namespace = eventNamespace(regarding)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { ...nameAfter(regarding.name, suffix), namespace },
    involvedObject: present(regarding),
    type,
    reason,
    message: shorten(report.message),
    source: present({ component, host }),
    reportingComponent: component,
    reportingInstance: host ?? '',
    firstTimestamp: timestamp(report.first),
    lastTimestamp: timestamp(report.last),
    count: report.count,
  }
}

function nameAfter(name: string, suffix: string | undefined): JsonObject {
  if (suffix === undefined) return { generateName: `${name}.` }
  return { name: `${name.slice(0, MAX_NAME_LENGTH - suffix.length - 1)}.${suffix}` }
}

function present(fields: object): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function shorten(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH
    ? message
    : `${message.slice(0, MAX_MESSAGE_LENGTH - 1)}…`
}
