import { NodeProxyError } from '../../lib/error.ts'

/**
 * What a failure of the store did to the request. `nothing`: it was not done, and
 * will not be until somebody mends the store. `later`: it was not done, and may be
 * repeated. `unknown`: it may have been done. `broken`: nothing more can be said.
 */
export type Effect = 'nothing' | 'later' | 'unknown' | 'broken'

export interface StoreTrouble {
  /** In words for clients, without paths and addresses. */
  readonly matter: string
  readonly effect: Effect
}

const TROUBLES: Readonly<Record<string, StoreTrouble>> = {
  NP_STORAGE_FULL: { matter: 'the store is full', effect: 'nothing' },
  NP_STORAGE_READ_ONLY: { matter: 'the store is read-only', effect: 'nothing' },
  NP_STORAGE_LOCKED: { matter: 'the store is locked by another process', effect: 'later' },
  NP_STORAGE_CLOSED: { matter: 'the server is stopping', effect: 'later' },
  NP_STORAGE_ETCD_UNREACHABLE: { matter: 'etcd cannot be reached', effect: 'later' },
  NP_STORAGE_UNKNOWN_OUTCOME: { matter: 'etcd did not answer in time', effect: 'unknown' },
  NP_STORAGE_ETCD_REFUSED: { matter: 'etcd refused the request', effect: 'broken' },
  NP_STORAGE_OPEN: { matter: 'the files of the store cannot be opened', effect: 'broken' },
  NP_STORAGE_IO: { matter: 'the disk of the store failed', effect: 'broken' },
  NP_STORAGE_WRITER: { matter: 'the store failed', effect: 'broken' },
  NP_STORAGE_GONE: { matter: 'the files of the store are gone', effect: 'broken' },
  NP_STORAGE_CORRUPT: { matter: 'the store is damaged', effect: 'broken' },
}

/** What is the matter with the store, if that is what the error says. */
export function storeTrouble(error: unknown): StoreTrouble | undefined {
  if (!(error instanceof NodeProxyError) || !Object.hasOwn(TROUBLES, error.code)) return undefined
  return TROUBLES[error.code]
}
