import { NodeProxyError } from '../../lib/error.ts'
import { internalError, StatusError, serviceUnavailable } from './status.ts'

/**
 * The effect of a failure of the store on the request. `nothing`: it was not executed, and cannot be until an
 * operator repairs the store. `later`: it was not executed, and may be repeated. `unknown`: it may have been
 * executed. `broken`: nothing more is known.
 */
export type Effect = 'nothing' | 'later' | 'unknown' | 'broken'

export interface StoreFailure {
  /** The cause in words for clients, without paths and addresses. */
  readonly cause: string
  readonly effect: Effect
}

const FAILURES: Readonly<Record<string, StoreFailure>> = {
  NP_STORAGE_FULL: { cause: 'the store is full', effect: 'nothing' },
  NP_STORAGE_READ_ONLY: { cause: 'the store is read-only', effect: 'nothing' },
  NP_STORAGE_LOCKED: { cause: 'the store is locked by another process', effect: 'later' },
  NP_STORAGE_CLOSED: { cause: 'the server is stopping', effect: 'later' },
  NP_STORAGE_ETCD_UNREACHABLE: { cause: 'etcd cannot be reached', effect: 'later' },
  NP_STORAGE_UNKNOWN_OUTCOME: { cause: 'etcd did not answer in time', effect: 'unknown' },
  NP_STORAGE_ETCD_REFUSED: { cause: 'etcd refused the request', effect: 'broken' },
  NP_STORAGE_OPEN: { cause: 'the files of the store cannot be opened', effect: 'broken' },
  NP_STORAGE_IO: { cause: 'the disk of the store failed', effect: 'broken' },
  NP_STORAGE_WRITER: { cause: 'the store failed', effect: 'broken' },
  NP_STORAGE_GONE: { cause: 'the files of the store are gone', effect: 'broken' },
  NP_STORAGE_CORRUPT: { cause: 'the store is damaged', effect: 'broken' },
}

/** The failure of the store that an error reports; undefined: it reports none. */
export function storeFailure(error: unknown): StoreFailure | undefined {
  if (!(error instanceof NodeProxyError) || !Object.hasOwn(FAILURES, error.code)) return undefined
  return FAILURES[error.code]
}

/**
 * The answer to a request that the store did not serve. Kubernetes clients repeat every request that is
 * answered with `Retry-After`, even writes. So only a request that had no effect, and may succeed without an
 * operator, gets that header. Undefined when the error is not of the store.
 */
export function storeStatusError(error: unknown): StatusError | undefined {
  const failure = storeFailure(error)
  if (failure === undefined) return undefined
  const { cause, effect } = failure
  if (effect === 'later') return serviceUnavailable(`${cause}, please try again later`)
  if (effect === 'broken') return internalError(cause)
  if (effect === 'unknown') {
    const message = `Timeout: ${cause}, so the change may have been made: read the object before you repeat it`
    return new StatusError({ code: 504, reason: 'Timeout', message, details: {} })
  }
  const message = `${cause}: nothing was written`
  return new StatusError({ code: 503, reason: 'ServiceUnavailable', message, details: {} })
}
