import type { ServerOptions } from 'node:http'

/** The longest time between two checks of the connections of a server; Node's own default is 30 s. */
const MAX_INTERVAL_MS = 1000

/** The interval of checks is the time limit divided by this number. */
const PARTS = 10

/**
 * Options of an HTTP server that gives clients `arrivalMs` for a request: for its headers, and for the whole request.
 * Node checks for late requests from time to time, only among those that have begun and are not complete, so idle
 * connections and running answers cost nothing. A late request is noticed within a tenth of the limit, and within a
 * second.
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
