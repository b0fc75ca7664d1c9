import type { ApiFailure } from '../http/failure/failure.ts'
import { localFailure } from '../http/failure/failure.ts'

/** How a watch ended, which decides the next step. */
export type WatchEnd =
  /** The server closed it at `timeoutSeconds`: continue where it ended. */
  | { readonly kind: 'planned' }
  /** The connection broke: check that the server has not lost history, then continue. */
  | { readonly kind: 'broken'; readonly failure: ApiFailure }
  /** The server does not have the watch's version, or may have lost history: list again. */
  | { readonly kind: 'lost'; readonly failure: ApiFailure }
  /** No response to a streaming list in time: use pages for this list. */
  | { readonly kind: 'silent' }
  /** The server does not support streaming lists: use pages from now on. */
  | { readonly kind: 'unsupported' }

/** The status of a server that does not support the parameters of a streaming list. */
const UNSUPPORTED_STATUS = new Set([400, 403, 405, 406, 415, 422, 501])
/** The status of a server that does not have the requested version. */
const UNKNOWN_VERSION_STATUS = new Set([400, 410, 422])

/** The end of a watch that the server refused; `initial`: it was to begin with a streaming list. */
export function refusedWatch(failure: ApiFailure, initial: boolean): WatchEnd {
  if (initial && UNSUPPORTED_STATUS.has(failure.code)) return { kind: 'unsupported' }
  return {
    kind: UNKNOWN_VERSION_STATUS.has(failure.code) || isOutage(failure) ? 'lost' : 'broken',
    failure,
  }
}

/** The end of a watch in which the server sent an ERROR event. */
export function erroneousWatch(failure: ApiFailure): WatchEnd {
  return { kind: UNKNOWN_VERSION_STATUS.has(failure.code) ? 'lost' : 'broken', failure }
}

/** The failure of a server whose versions went from `known` back to `current`. */
export function rewound(known: string, current: string): ApiFailure {
  const message = `the server's resourceVersion went back from ${known} to ${current}`
  return localFailure('NP_CLIENT_REWOUND', 'Rewound', message)
}

/**
 * Whether the server was down. Versions alone do not show whether it still has the same history
 * afterwards: it may have been restored from a backup and have reached the same version since. So the
 * reflector lists again then.
 */
function isOutage({ code, errorCode }: ApiFailure): boolean {
  return code >= 500 || errorCode === 'NP_CLIENT_UNREACHABLE' || errorCode === 'NP_CLIENT_TLS'
}

/** The failure of a watch that the server closed before `timeoutSeconds`. */
export function endedEarly(path: string): ApiFailure {
  const message = `the watch of ${path} ended before its time`
  return localFailure('NP_CLIENT_WATCH_ENDED', 'WatchEnded', message)
}
