import { NodeProxyError } from '../../lib/error.ts'

/** The command line is wrong: exit code 2. `hint` says what to write instead. */
export function usageError(message: string, hint?: string): NodeProxyError {
  return new NodeProxyError('NP_ORCHCTL_USAGE', message, hint === undefined ? {} : { hint })
}
