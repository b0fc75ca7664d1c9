/** Bounds on what one client can make the server do. */
export interface Limits {
  /** Bytes of a request body. */
  readonly bodyBytes: number
  /** Bytes of a request's headers. */
  readonly headerBytes: number
  /** Nesting of a JSON document. */
  readonly jsonDepth: number
  /** Operations in a JSON patch. */
  readonly patchOperations: number
  /** Bytes that the copy operations of a JSON patch may add. */
  readonly patchCopyBytes: number
  /** Reads at one time, without watches; a quarter of them is the system's. */
  readonly readsInFlight: number
  /** Writes at one time; a quarter of them is the system's. */
  readonly writesInFlight: number
  /** Watches at one time. */
  readonly watches: number
  /** Changes per resource that watches can start from or lag behind. */
  readonly windowChanges: number
  /** Bytes per resource that these changes may hold. */
  readonly windowBytes: number
  /** A client that takes nothing of its answer or watch for this long is disconnected. */
  readonly stalledClientMs: number
  /** Milliseconds between bookmarks. */
  readonly bookmarkMs: number
  /** Default and longest duration of a watch in seconds. */
  readonly watchSeconds: number
  /** How long a read waits for a revision that was not seen yet. */
  readonly futureRevisionMs: number
  /** Milliseconds in which a request must arrive whole. */
  readonly requestMs: number
}

export const defaultLimits: Limits = {
  bodyBytes: 3 << 20,
  headerBytes: 64 << 10,
  jsonDepth: 500,
  patchOperations: 10_000,
  patchCopyBytes: 3 << 20,
  readsInFlight: 400,
  writesInFlight: 200,
  watches: 10_000,
  windowChanges: 10_000,
  windowBytes: 24 << 20,
  stalledClientMs: 60_000,
  bookmarkMs: 60_000,
  watchSeconds: 3600,
  futureRevisionMs: 3000,
  requestMs: 60_000,
}
