/** Limits of requests and watches. All times are milliseconds. */
export interface Limits {
  /** Bytes of a request body. */
  readonly requestBytes: number
  /** Bytes of a request's headers. */
  readonly headerBytes: number
  /** Levels of nesting of a JSON document. */
  readonly jsonDepth: number
  /** Operations in a JSON patch. */
  readonly patchOperations: number
  /** Bytes that the copy operations of a JSON patch may add. */
  readonly patchCopyBytes: number
  /** Reads at one time, without watches; a quarter of the slots is for components of the cluster alone. */
  readonly requestsInFlight: number
  /** Writes at one time; a quarter of the slots is for components of the cluster alone. */
  readonly mutatingRequestsInFlight: number
  /** Watches at one time. */
  readonly watches: number
  /** Followed logs and connections to Pods at one time. */
  readonly streams: number
  /** Milliseconds after which an idle connection to a Pod is ended. */
  readonly idleStreamTimeout: number
  /** Changes per resource that the cache keeps, for watches to start from or to lag behind. */
  readonly watchWindowChanges: number
  /** Bytes per resource of the changes that the cache keeps. */
  readonly watchWindowBytes: number
  /** Milliseconds after which a client that reads nothing of its answer or watch is disconnected. */
  readonly stalledClientTimeout: number
  /** Milliseconds between two bookmarks of a watch. */
  readonly bookmarkPeriod: number
  /** Milliseconds that a watch lasts, at most and by default. */
  readonly watchDuration: number
  /** Milliseconds that a read waits for a revision that the caches do not show yet. */
  readonly futureRevisionTimeout: number
  /** Milliseconds in which a request must arrive; from then on a write may wait and be retried as long. */
  readonly requestTimeout: number
}

/** The limits of a server without other options. */
export const defaultLimits: Limits = {
  requestBytes: 3 << 20,
  headerBytes: 64 << 10,
  jsonDepth: 500,
  patchOperations: 10_000,
  patchCopyBytes: 3 << 20,
  requestsInFlight: 400,
  mutatingRequestsInFlight: 200,
  watches: 10_000,
  streams: 1000,
  idleStreamTimeout: 4 * 3_600_000,
  watchWindowChanges: 10_000,
  watchWindowBytes: 24 << 20,
  stalledClientTimeout: 60_000,
  bookmarkPeriod: 60_000,
  watchDuration: 3_600_000,
  futureRevisionTimeout: 3000,
  requestTimeout: 60_000,
}
