/** Bounds on what one client can make the server do: bytes, counts, and milliseconds. */
export interface Limits {
  /** Bytes of a request body. */
  readonly requestBytes: number
  /** Bytes of a request's headers. */
  readonly headerBytes: number
  /** Nesting of a JSON document. */
  readonly jsonDepth: number
  /** Operations in a JSON patch. */
  readonly patchOperations: number
  /** Bytes that the copy operations of a JSON patch may add. */
  readonly patchCopyBytes: number
  /** Reads at one time, without watches; a quarter of them is the system's. */
  readonly requestsInFlight: number
  /** Writes at one time; a quarter of them is the system's. */
  readonly mutatingRequestsInFlight: number
  /** Watches at one time. */
  readonly watches: number
  /** Changes per resource that watches can start from or lag behind. */
  readonly watchWindowChanges: number
  /** Bytes per resource that these changes may hold. */
  readonly watchWindowBytes: number
  /** A client that takes nothing of its answer or watch for this long is disconnected. */
  readonly stalledClientTimeout: number
  /** Between two bookmarks of a watch. */
  readonly bookmarkPeriod: number
  /** How long a watch lasts, at most and by default. */
  readonly watchDuration: number
  /** How long a read waits for a revision that was not seen yet. */
  readonly futureRevisionTimeout: number
  /** In which a request must arrive whole, and how long a write may wait for its turn. */
  readonly requestTimeout: number
}

export const defaultLimits: Limits = {
  requestBytes: 3 << 20,
  headerBytes: 64 << 10,
  jsonDepth: 500,
  patchOperations: 10_000,
  patchCopyBytes: 3 << 20,
  requestsInFlight: 400,
  mutatingRequestsInFlight: 200,
  watches: 10_000,
  watchWindowChanges: 10_000,
  watchWindowBytes: 24 << 20,
  stalledClientTimeout: 60_000,
  bookmarkPeriod: 60_000,
  watchDuration: 3_600_000,
  futureRevisionTimeout: 3000,
  requestTimeout: 60_000,
}
