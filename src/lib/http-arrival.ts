import type { ServerOptions } from 'node:http'

/** Between two checks of the connections of a server, at most; Node's own default is 30 s. */
const MAX_INTERVAL_MS = 1000

/** Parts of the time limit by which a late request may be noticed too late. */
const PARTS = 10

/**
 * Options of an HTTP server whose clients have `arrivalMs` for a request: for its
 * headers, and for all of it. Node looks for late requests from time to time, only
 * among those that have begun and are not complete, so idle connections and running
 * answers cost nothing. A late one is noticed within a tenth of the limit, and within
 * a second.
 */
export function httpArrival(
  arrivalMs: number,
): Pick<ServerOptions, 'headersTimeout' | 'requestTimeout' | 'connectionsCheckingInterval'> {
  return {
    headersTimeout: arrivalMs,
    requestTimeout: arrivalMs,
    connectionsCheckingInterval: Math.min(MAX_INTERVAL_MS, Math.ceil(arrivalMs / PARTS)),
  }
}
