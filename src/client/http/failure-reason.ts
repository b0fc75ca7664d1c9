import { type ApiFailure, unstated } from './failure.ts'

/** Why requests to an API server fail: the closed set of values of the label `reason`. */
export type FailureReason = keyof typeof REASONS

/** How failures of one reason are reported. */
export interface ReasonFacts {
  /** `warn` for failures that usually end by themselves, `error` for those that an operator has to repair. */
  readonly level: 'info' | 'warn' | 'error'
  /** Whether the reason concerns the server as a whole, or each resource by itself. */
  readonly scope: 'server' | 'resource'
  /** What the operator does about it. */
  readonly remedy: string
}

/** All reasons, with level, scope and remedy. */
export const REASONS = {
  refused: {
    level: 'warn',
    scope: 'server',
    remedy:
      'check that the API server runs, and its address and port in the kubeconfig or --master',
  },
  unreachable: {
    level: 'warn',
    scope: 'server',
    remedy: 'check the network and the firewalls between this node and the API server',
  },
  closed: {
    level: 'warn',
    scope: 'server',
    remedy:
      'check that the API server speaks the scheme (http or https) of its URL in the kubeconfig or --master; its log has more',
  },
  timeout: {
    level: 'warn',
    scope: 'server',
    remedy: 'check the load of the API server, and the firewalls and proxies in front of it',
  },
  dns: {
    level: 'error',
    scope: 'server',
    remedy: "check the server's name in the kubeconfig or --master, and this node's name servers",
  },
  tls: {
    level: 'error',
    scope: 'server',
    remedy:
      "check certificate-authority, tls-server-name and client-certificate in the kubeconfig, and this node's clock",
  },
  credential: {
    level: 'error',
    scope: 'server',
    remedy: 'repair the file or the credential plugin that the message names',
  },
  unauthorized: {
    level: 'error',
    scope: 'server',
    remedy: 'renew the token or the client certificate in the kubeconfig or the service account',
  },
  forbidden: {
    level: 'error',
    scope: 'resource',
    remedy:
      'grant it (RBAC): get, list and watch on services, endpointslices and nodes; create on events',
  },
  throttled: {
    level: 'warn',
    scope: 'server',
    remedy: 'check the load of the API server and its priority and fairness settings',
  },
  server_error: {
    level: 'warn',
    scope: 'server',
    remedy: 'check the API server, its log and its store',
  },
  redirect: {
    level: 'error',
    scope: 'server',
    remedy: 'give the address of the API server itself in the kubeconfig or --master',
  },
  not_an_api_server: {
    level: 'error',
    scope: 'server',
    remedy:
      'check scheme, address and port in the kubeconfig or --master: a proxy or another service may listen there',
  },
  rejected: {
    level: 'error',
    scope: 'resource',
    remedy: 'check the version of the API server, and which resources it serves',
  },
  rewound: {
    level: 'warn',
    scope: 'server',
    remedy: 'nothing if its store was restored from a backup; everything is listed again',
  },
  watch_ended: {
    level: 'info',
    scope: 'server',
    remedy: 'nothing, unless it repeats: then look for an idle timeout in front of the API server',
  },
} as const satisfies Readonly<Record<string, ReasonFacts>>

const BY_STATUS: ReadonlyMap<number, FailureReason> = new Map([
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [429, 'throttled'],
])

const BY_CODE: ReadonlyMap<string, FailureReason> = new Map([
  ['NP_CLIENT_CREDENTIAL', 'credential'],
  ['NP_CLIENT_GARBAGE', 'not_an_api_server'],
  ['NP_CLIENT_REDIRECT', 'redirect'],
  ['NP_CLIENT_REWOUND', 'rewound'],
  ['NP_CLIENT_TIMEOUT', 'timeout'],
  ['NP_CLIENT_TLS', 'tls'],
  ['NP_CLIENT_TOO_LARGE', 'not_an_api_server'],
  ['NP_CLIENT_WATCH_ENDED', 'watch_ended'],
])

/** Reasons of failures without a response, by `ApiFailure.reason`. */
const BY_REASON: ReadonlyMap<string, FailureReason> = new Map([
  ['ConnectionRefused', 'refused'],
  ['NameResolution', 'dns'],
  ['Closed', 'closed'],
])

/**
 * The reason of a failure; undefined for a failure that is not reported: an aborted request, and
 * an expired version (410), after which the client lists again.
 */
export function reasonOf(failure: ApiFailure): FailureReason | undefined {
  const { code, errorCode, reason } = failure
  if (errorCode === 'NP_CLIENT_ABORTED' || code === 410) return undefined
  const local = BY_CODE.get(errorCode)
  if (local !== undefined) return local
  if (code >= 500) return 'server_error'
  const refusal = BY_STATUS.get(code)
  if (refusal !== undefined) return refusal
  if (code > 0) return reason === unstated(code) ? 'not_an_api_server' : 'rejected'
  if (errorCode === 'NP_CLIENT_REFUSED') return 'server_error'
  return BY_REASON.get(reason) ?? 'unreachable'
}

/** Level, scope and remedy of a reason. */
export function factsOf(reason: FailureReason): ReasonFacts {
  return REASONS[reason]
}
