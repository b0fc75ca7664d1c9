import { type ServiceError, status } from '@grpc/grpc-js'
import { NodeProxyError } from '../../lib/error.ts'

/**
 * What an error of a call tells about its effect. `refused`: etcd answered, and
 * nothing happened. `unsent`: nothing happened, and another attempt may succeed.
 * `unknown`: it may have happened.
 */
export type Outcome = 'refused' | 'unsent' | 'unknown'

const LOST: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.UNKNOWN,
  status.INTERNAL,
  status.ABORTED,
])

/** What etcd says before it proposes anything, and grpc-js before it sends anything. */
const UNSENT =
  /etcdserver: (no leader|not capable|too many requests|rpc not supported for learner)|^No connection established|^Name resolution failed/

export function outcomeOf(error: unknown): Outcome {
  if (!isServiceError(error)) return 'refused'
  if (UNSENT.test(error.details)) return 'unsent'
  return LOST.has(error.code) ? 'unknown' : 'refused'
}

/** Why a revision cannot be read, if that is what the error says. */
export function revisionFault(error: unknown): 'compacted' | 'future' | undefined {
  const cause = error instanceof NodeProxyError ? error.cause : error
  if (!isServiceError(cause) || cause.code !== status.OUT_OF_RANGE) return undefined
  if (cause.details.includes('has been compacted')) return 'compacted'
  return cause.details.includes('future revision') ? 'future' : undefined
}

export function refused(what: string, error: unknown): NodeProxyError {
  const words = wordsOf(error)
  return new NodeProxyError('NP_STORAGE_ETCD_REFUSED', `etcd refused ${what}: ${words}`, {
    object: what,
    hint: hintFor(words),
    cause: error,
  })
}

export function unreachable(endpoints: readonly string[], error: unknown): NodeProxyError {
  const list = endpoints.join(', ')
  return new NodeProxyError(
    'NP_STORAGE_ETCD_UNREACHABLE',
    `no etcd answers at ${list}: ${wordsOf(error)}`,
    {
      object: list,
      hint: 'check that etcd runs and has a leader (etcdctl endpoint health), that the addresses and ports are right, and that both sides use TLS or neither',
      cause: error,
    },
  )
}

export function unknownOutcome(what: string, error: unknown): NodeProxyError {
  return new NodeProxyError(
    'NP_STORAGE_UNKNOWN_OUTCOME',
    `${what} was sent, but not answered: ${wordsOf(error)}`,
    { object: what, hint: 'read the keys again before deciding what to do', cause: error },
  )
}

function hintFor(words: string): string {
  if (words.includes('database space exceeded')) {
    return 'compact and defragment etcd, raise --quota-backend-bytes, then disarm its alarm'
  }
  if (words.includes('too many operations')) return "raise etcd's --max-txn-ops"
  if (words.includes('too large')) return "raise etcd's --max-request-bytes"
  return "check the client's certificate and the permissions that etcd gives it"
}

function wordsOf(error: unknown): string {
  if (isServiceError(error)) return error.details || error.message
  return error instanceof Error ? error.message : 'it answers again'
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error
}
