import type { Warning } from './warnings.ts'

/** A v1 Event as it is posted to the API server. */
export interface CoreEvent {
  readonly apiVersion: 'v1'
  readonly kind: 'Event'
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly involvedObject: Readonly<Record<string, string>>
  readonly type: 'Warning'
  readonly reason: string
  readonly message: string
  readonly source: { readonly component: string; readonly host: string }
  readonly reportingComponent: string
  readonly reportingInstance: string
  readonly firstTimestamp: string
  readonly lastTimestamp: string
  readonly count: number
}

export interface Occurrences {
  /** Milliseconds since the epoch. */
  readonly first: number
  readonly last: number
  readonly count: number
  /** Tells events of the same object and millisecond apart. */
  readonly sequence: number
}

const COMPONENT = 'node-proxy'
const LONGEST_MESSAGE = 1_024
const LONGEST_NAME = 253

/** The Event that reports a warning; events about the node stand in namespace `default`. */
export function coreEvent(warning: Warning, host: string, seen: Occurrences): CoreEvent {
  const { kind, apiVersion, name, namespace, uid } = warning.regarding
  const suffix = `.${seen.last.toString(16)}${seen.sequence.toString(16).padStart(4, '0')}`
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: name.slice(0, LONGEST_NAME - suffix.length) + suffix,
      namespace: namespace ?? 'default',
    },
    involvedObject: {
      apiVersion,
      kind,
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
    },
    type: 'Warning',
    reason: warning.reason,
    message: shorten(warning.message),
    source: { component: COMPONENT, host },
    reportingComponent: COMPONENT,
    reportingInstance: host,
    firstTimestamp: timestamp(seen.first),
    lastTimestamp: timestamp(seen.last),
    count: seen.count,
  }
}

/** Seconds: metav1.Time knows no fractions. */
function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

function shorten(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE - 1)}…`
}
