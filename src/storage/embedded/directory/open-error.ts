import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'

/** Runs `work` on files. @throws NP_STORAGE_OPEN for whatever it throws, with that as the cause */
export function withOpenErrors<Result>(path: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    throw new NodeProxyError('NP_STORAGE_OPEN', `${quote(path)} cannot be used: ${String(cause)}`, {
      object: path,
      hint: 'check that the directory exists and that this user may write to it',
      cause,
    })
  }
}
