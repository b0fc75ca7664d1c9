import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'

/** Runs work on files, and turns what the file system refuses into NP_STORAGE_OPEN. */
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
