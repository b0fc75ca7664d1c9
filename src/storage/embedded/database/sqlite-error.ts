import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'

interface Meaning {
  readonly code: string
  readonly hint: string
}

/** The primary result codes of SQLite (sqlite.org/rescode.html) for which an operator can do something. */
const MEANINGS: ReadonlyMap<number, Meaning> = new Map([
  [
    1,
    {
      code: 'NP_STORAGE_CORRUPT',
      hint: 'the tables are not those that this program makes: restore the latest backup',
    },
  ],
  [
    5,
    {
      code: 'NP_STORAGE_LOCKED',
      hint: 'stop the other server, or give this one its own data directory',
    },
  ],
  [8, { code: 'NP_STORAGE_READ_ONLY', hint: 'make the data directory writable for this user' }],
  [11, { code: 'NP_STORAGE_CORRUPT', hint: 'restore the latest backup' }],
  [
    13,
    {
      code: 'NP_STORAGE_FULL',
      hint: 'free space on the disk; the write that failed had no effect',
    },
  ],
  [
    14,
    {
      code: 'NP_STORAGE_OPEN',
      hint: 'check that the directory exists and that this user may use it',
    },
  ],
  [26, { code: 'NP_STORAGE_CORRUPT', hint: 'this is not a database: restore the latest backup' }],
])

const OTHER: Meaning = {
  code: 'NP_STORAGE_IO',
  hint: 'look for errors of the disk in the kernel log, then start the server again',
}

/** An error of SQLite as a NodeProxyError with a code NP_STORAGE_…; any other error as it is. */
export function storageError(cause: unknown, file: string): unknown {
  if (!(cause instanceof Error) || !('errcode' in cause)) return cause
  const { code, hint } = MEANINGS.get(Number(cause.errcode) & 0xff) ?? OTHER
  const message = `${quote(file)}: ${cause.message} (SQLite ${String(cause.errcode)})`
  return new NodeProxyError(code, message, { object: file, hint, cause })
}

/** Runs `work`. @throws a NodeProxyError for an error of SQLite; other errors as they are */
export function withStorageErrors<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw storageError(error, file)
  }
}
