import type { Limits } from '../../apiserver/limits.ts'
import type { LimitsConfiguration } from './configuration.ts'

/** The limits of the configuration in the words and units of the API server. */
export function serverLimits(limits: LimitsConfiguration): Limits {
  return {
    bodyBytes: limits.requestBytes,
    headerBytes: limits.headerBytes,
    jsonDepth: limits.jsonDepth,
    patchOperations: limits.patchOperations,
    patchCopyBytes: limits.patchCopyBytes,
    readsInFlight: limits.requestsInFlight,
    writesInFlight: limits.mutatingRequestsInFlight,
    watches: limits.watches,
    windowChanges: limits.watchWindowChanges,
    windowBytes: limits.watchWindowBytes,
    watchSeconds: Math.floor(limits.watchDuration / 1000),
    bookmarkMs: limits.bookmarkPeriod,
    stalledClientMs: limits.stalledClientTimeout,
    requestMs: limits.requestTimeout,
    futureRevisionMs: limits.futureRevisionTimeout,
  }
}
