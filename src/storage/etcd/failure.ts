import { type ServiceError, status } from '@grpc/grpc-js'
import { NodeProxyError } from '../../lib/error.ts'

/** Remedies of failed TLS handshakes, by the messages of Node and OpenSSL. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /alert (bad certificate|certificate|unknown ca|unsupported certificate)/i,
    'etcd requires a client certificate or refuses the given one: name one with --etcd-certfile and --etcd-keyfile that is for clients, has not expired, and was issued by the authority that etcd trusts (its --trusted-ca-file)',
  ],
  [
    /unable to (verify|get)|self-signed|signature failure/i,
    "etcd's certificate was issued by an authority that is not trusted here: name that authority with --etcd-cafile",
  ],
  [/has expired|not yet valid/i, "renew etcd's certificate, and check the clocks of both machines"],
  [
    /certificate's altnames/i,
    "write the endpoint in --etcd-servers with a name or an address that is in etcd's certificate, or give etcd a certificate that has it",
  ],
  [
    /wrong version number|packet length too long/i,
    'etcd does not use TLS there: write http:// in --etcd-servers, or give etcd a certificate (its --cert-file)',
  ],
]

/**
 * What an error of a call means for its effect. `refused`: etcd answered, and
 * nothing happened. `unsent`: nothing happened, and another attempt may succeed.
 * `unknown`: it may have happened.
 */
export type CallOutcome = 'refused' | 'unsent' | 'unknown'

const LOST: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.UNKNOWN,
  status.INTERNAL,
  status.ABORTED,
])

/** Errors of etcd before it proposes anything, and of grpc-js before it sends anything. */
const UNSENT =
  /etcdserver: (no leader|not capable|too many requests|rpc not supported for learner)|^No connection established|^Name resolution failed/

/** The error of grpc-js for a stream that was cut off by ENHANCE_YOUR_CALM (RFC 9113 §7), with the status of a refusal. */
const CUT_OFF = /^Bandwidth exhausted/

/** The error of etcd when its database reaches the quota; reads still succeed. */
const QUOTA_USED_UP = /database space exceeded/

/** What an error of a call means for its effect. */
export function outcomeOf(error: unknown): CallOutcome {
  if (!isServiceError(error)) return 'refused'
  if (UNSENT.test(error.details)) return 'unsent'
  if (CUT_OFF.test(error.details)) return 'unknown'
  return LOST.has(error.code) ? 'unknown' : 'refused'
}

/** Why etcd cannot read a revision; undefined for any other error. */
export function revisionFault(error: unknown): 'compacted' | 'future' | undefined {
  const words = wordsOf(error instanceof NodeProxyError ? error.cause : error)
  const fault = /mvcc: required revision (?:has been (compacted)|is a (future) revision)/.exec(
    words,
  )
  return (fault?.[1] ?? fault?.[2]) as 'compacted' | 'future' | undefined
}

/** NP_STORAGE_ETCD_REFUSED, or NP_STORAGE_FULL when the quota is used up; `what` is the call, such as `Range`. */
export function refused(what: string, error: unknown): NodeProxyError {
  const words = wordsOf(error)
  const code = QUOTA_USED_UP.test(words) ? 'NP_STORAGE_FULL' : 'NP_STORAGE_ETCD_REFUSED'
  return new NodeProxyError(code, `etcd refused ${what}: ${words}`, {
    object: what,
    hint: hintFor(words),
    cause: briefly(error),
  })
}

const UNREACHABLE_HINT =
  'check that etcd runs and has a leader (etcdctl endpoint health), that the addresses and ports are right, and that both sides use TLS or neither'

/** NP_STORAGE_ETCD_UNREACHABLE; `error` is that of the last endpoint. */
export function unreachable(endpoints: readonly string[], error: unknown): NodeProxyError {
  const list = endpoints.join(', ')
  const words = wordsOf(error)
  return new NodeProxyError('NP_STORAGE_ETCD_UNREACHABLE', `no etcd answers at ${list}: ${words}`, {
    object: list,
    hint: remedyOfTls(words) ?? UNREACHABLE_HINT,
    cause: briefly(error),
  })
}

/** NP_STORAGE_UNKNOWN_OUTCOME: the call was sent, and may have changed something. */
export function unknownOutcome(what: string, error: unknown): NodeProxyError {
  return new NodeProxyError(
    'NP_STORAGE_UNKNOWN_OUTCOME',
    `${what} was sent, but not answered: ${wordsOf(error)}`,
    { object: what, hint: 'read the keys again before deciding what to do', cause: briefly(error) },
  )
}

function hintFor(words: string): string {
  if (QUOTA_USED_UP.test(words)) {
    return 'compact and defragment etcd, raise --quota-backend-bytes, then disarm its alarm'
  }
  if (words.includes('too many operations')) return "raise etcd's --max-txn-ops"
  if (words.includes('too large')) return "raise etcd's --max-request-bytes"
  if (words.includes('user name is empty')) {
    return 'etcd demands authentication, and orch-server has no user name and password to give: make the common name of its certificate (--etcd-certfile) a user of etcd that may read and write --etcd-prefix; etcd takes it with --client-cert-auth'
  }
  return "check the client's certificate and the permissions that etcd gives it"
}

/**
 * The message of an error in one line. Text that grpc-js and OpenSSL add around the cause of a failed
 * connection is removed. Without an error, the endpoint failed for another call and has not failed for this one.
 */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it answers again'
  const words = (isServiceError(error) && error.details) || error.message
  return words
    .replace(/^No connection established\. Last error: (?:Error(?: \[\w+\])?: )?/, '')
    .replace(/\s*(?:\([\d-]+T[\d:.]+Z\))?\. Resolution note:.*$/s, '')
    .replace(/[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]+):.*/s, '$1')
    .replaceAll(/\s+/g, ' ')
}

/** The cause for the log: message and status without a stack, because the error is not a bug of this program. */
function briefly(error: unknown): unknown {
  if (!isServiceError(error)) return error
  return Object.assign(new Error(wordsOf(error)), { code: status[error.code] })
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error
}

/** The remedy if TLS failed, which is a lasting failure; undefined for other errors. */
export function remedyOfTls(words: string): string | undefined {
  return REMEDIES.find(([sign]) => sign.test(words))?.[1]
}
