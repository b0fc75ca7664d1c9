import { NodeProxyError } from '../../lib/error.ts'

/**
 * 0: done; 1: refused, not found or failed; 2: wrong usage or configuration; 3: the server cannot be reached. `exec`
 * ends with the exit code of the remote command.
 */
export type ExitCode = number

/** The codes of errors, by the exit code that they cause; every other error causes 1. */
const CAUSES: ReadonlyMap<string, ExitCode> = new Map([
  ['NP_ORCHCTL_USAGE', 2],
  ['NP_MANIFESTS_USAGE', 2],
  ['NP_ORCHCTL_NO_SERVER', 2],
  ['NP_ORCHCTL_KUBECONFIG', 2],
  ['NP_CLIENT_KUBECONFIG', 2],
  ['NP_CLIENT_SERVER_URL', 2],
  ['NP_CLIENT_UNREACHABLE', 3],
  ['NP_CLIENT_TIMEOUT', 3],
  ['NP_CLIENT_TLS', 3],
  ['NP_CLIENT_GARBAGE', 3],
  ['NP_CLIENT_REDIRECT', 3],
  ['NP_ORCHCTL_NODE_UNREACHABLE', 3],
])

/** The exit code of the program after an error. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof NodeProxyError ? (CAUSES.get(error.code) ?? 1) : 1
}

/** The command line is wrong: exit code 2. `hint` says what to write instead. */
export function usageError(message: string, hint?: string): NodeProxyError {
  return new NodeProxyError('NP_ORCHCTL_USAGE', message, hint === undefined ? {} : { hint })
}
