import type { ApiFailure } from '../http/failure/failure.ts'
import { localFailure } from '../http/failure/failure.ts'

/** How a watch came to its end, and so what to do next. */
export type WatchEnd =
  /** The server closed it at `timeoutSeconds`: go on where it stopped. */
  | { readonly kind: 'planned' }
  /** It broke: make sure that the server still knows our past, then go on. */
  | { readonly kind: 'broken'; readonly failure: ApiFailure }
  /** Our position in the history is gone or not to be trusted: list again. */
  | { readonly kind: 'lost'; readonly failure: ApiFailure }
  /** Nothing came of a streaming list in time, not even its head: list in pages this time. */
  | { readonly kind: 'silent' }
  /** The server does not do streaming lists: list in pages. */
  | { readonly kind: 'unsupported' }

/** The responses of a server that does not support our parameters. */
const MISUNDERSTOOD = new Set([400, 403, 405, 406, 415, 422, 501])
/** The responses of a server that does not have our version any more. */
const LOST = new Set([400, 410, 422])

/** The end of a watch that the server did not open; `initial`: it was to be a streaming list. */
export function refusedWatch(failure: ApiFailure, initial: boolean): WatchEnd {
  if (initial && MISUNDERSTOOD.has(failure.code)) return { kind: 'unsupported' }
  return { kind: LOST.has(failure.code) || isOutage(failure) ? 'lost' : 'broken', failure }
}

/** The end of a watch in which the server sent an ERROR event. */
export function erroneousWatch(failure: ApiFailure): WatchEnd {
  return { kind: LOST.has(failure.code) ? 'lost' : 'broken', failure }
}

/** The failure of a server whose versions went from `known` back to `current`. */
export function rewound(known: string, current: string): ApiFailure {
  const message = `the server's resourceVersion went back from ${known} to ${current}`
  return localFailure('NP_CLIENT_REWOUND', 'Rewound', message)
}

/**
 * Whether the server was away. Versions alone do not show whether one that comes
 * back after that has the same past: it may have been put back to an older state
 * and have moved on since. So everything is listed again then.
 */
function isOutage({ code, errorCode }: ApiFailure): boolean {
  return code >= 500 || errorCode === 'NP_CLIENT_UNREACHABLE' || errorCode === 'NP_CLIENT_TLS'
}

/** The failure of a watch that the server closed of its own accord. */
export function endedEarly(path: string): ApiFailure {
  const message = `the watch of ${path} ended before its time`
  return localFailure('NP_CLIENT_WATCH_ENDED', 'WatchEnded', message)
}
