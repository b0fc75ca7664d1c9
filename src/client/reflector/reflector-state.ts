import type { ApiFailure } from '../http/failure.ts'

const DECIMAL = /^(0|[1-9][0-9]*)$/

/** Watch events so far, by type. */
export interface EventCounts {
  readonly added: number
  readonly modified: number
  readonly deleted: number
  readonly bookmark: number
  readonly error: number
}

/** The state of a reflector, for /readyz and metrics. Times are epoch milliseconds. */
export interface ReflectorState {
  readonly path: string
  /** Whether a watch is open at this moment. */
  readonly connected: boolean
  /** The time since which no watch is open; undefined while one is open. */
  readonly disconnectedSince: number | undefined
  /** Whether watches are forbidden and the single object is fetched every `pollMs` instead. */
  readonly polled: boolean
  /** The last time when everything was listed completely. */
  readonly listedAt: number | undefined
  /** The time of the last event, bookmark or complete list: the copy is at least as new. */
  readonly lastEventAt: number | undefined
  readonly resourceVersion: string | undefined
  /** The number of objects that exist and could be decoded. */
  readonly objects: number
  /** The number of objects that exist but could not be decoded. */
  readonly rejected: number
  /** Complete lists so far. */
  readonly lists: number
  /** Lists that were started again after the first complete one (410, rewound server, outage). */
  readonly restarts: number
  /** Watches opened so far. */
  readonly watches: number
  /** Requests and watches that failed so far. */
  readonly failures: number
  readonly events: EventCounts
  /** The last failure, even if it is over. */
  readonly lastFailure: (ApiFailure & { readonly at: number }) | undefined
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** `ReflectorState`, writable. */
export type ReflectorProgress = Omit<Mutable<ReflectorState>, 'events'> & {
  events: Mutable<EventCounts>
}

/** The state before the first list. */
export function createProgress(path: string, now: number): ReflectorProgress {
  return {
    path,
    connected: false,
    disconnectedSince: now,
    polled: false,
    listedAt: undefined,
    lastEventAt: undefined,
    resourceVersion: undefined,
    objects: 0,
    rejected: 0,
    lists: 0,
    restarts: 0,
    watches: 0,
    failures: 0,
    events: { added: 0, modified: 0, deleted: 0, bookmark: 0, error: 0 },
    lastFailure: undefined,
  }
}

/**
 * Compares two resourceVersions: negative if `a` is older, 0 if they are equal; undefined if one is not a decimal
 * number, so that they cannot be compared. KEP-5504 defines this comparison for Kubernetes API servers.
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return undefined
  if (a.length !== b.length) return a.length - b.length
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Whether `current` is older than `known`, which means that the server lost its recent history. */
export function isRewound(known: string, current: string): boolean {
  const order = compareVersions(current, known)
  return order !== undefined && order < 0
}
