import type { ApiFailure } from '../http/failure/failure.ts'

export interface EventCounts {
  readonly added: number
  readonly modified: number
  readonly deleted: number
  readonly bookmark: number
  readonly error: number
}

/** How well one resource is followed; what /readyz and the metrics show. Times are epoch ms. */
export interface ReflectorState {
  readonly path: string
  /** A watch is open at this moment. */
  readonly connected: boolean
  /** Since when no watch is open; undefined while one is. */
  readonly disconnectedSince: number | undefined
  /** No watch is allowed, and the one object is fetched now and then instead. */
  readonly polled: boolean
  /** Last time that everything was listed completely. */
  readonly listedAt: number | undefined
  /** Last event, bookmark or complete list: what we know is at least that fresh. */
  readonly lastEventAt: number | undefined
  readonly resourceVersion: string | undefined
  /** Objects that exist and could be decoded. */
  readonly objects: number
  /** Objects that exist and could not be decoded. */
  readonly rejected: number
  /** Complete lists so far. */
  readonly lists: number
  /** Lists begun anew after the first complete one (410, rewound server, outage). */
  readonly restarts: number
  /** Watches opened so far. */
  readonly watches: number
  /** Requests and watches that failed so far. */
  readonly failures: number
  readonly events: EventCounts
  /** Why it last failed; stays after it has healed. */
  readonly lastFailure: (ApiFailure & { readonly at: number }) | undefined
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** The same while it is being written. */
export type ReflectorProgress = Omit<Mutable<ReflectorState>, 'events'> & {
  events: Mutable<EventCounts>
}

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
