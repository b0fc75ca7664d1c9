import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'

interface Meaning {
  readonly code: string
  readonly hint: string
}

/** Primary result codes (sqlite.org/rescode.html); they are the lowest eight bits of `errcode`. */
const SQLITE = {
  ERROR: 1,
  BUSY: 5,
  READONLY: 8,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  NOTADB: 26,
} as const
const PRIMARY_CODE = 0xff

/** The result codes for which an operator can do something. */
const MEANINGS: ReadonlyMap<number, Meaning> = new Map([
  [
    SQLITE.ERROR,
    {
      code: 'NP_STORAGE_CORRUPT',
      hint: 'the tables are not those that this program makes: restore the latest backup',
    },
  ],
  [
    SQLITE.BUSY,
    {
      code: 'NP_STORAGE_LOCKED',
      hint: 'stop the other server, or give this one its own data directory',
    },
  ],
  [
    SQLITE.READONLY,
    { code: 'NP_STORAGE_READ_ONLY', hint: 'make the data directory writable for this user' },
  ],
  [SQLITE.CORRUPT, { code: 'NP_STORAGE_CORRUPT', hint: 'restore the latest backup' }],
  [
    SQLITE.FULL,
    {
      code: 'NP_STORAGE_FULL',
      hint: 'free space on the disk; the write that failed had no effect',
    },
  ],
  [
    SQLITE.CANTOPEN,
    {
      code: 'NP_STORAGE_OPEN',
      hint: 'check that the directory exists and that this user may use it',
    },
  ],
  [
    SQLITE.NOTADB,
    { code: 'NP_STORAGE_CORRUPT', hint: 'this is not a database: restore the latest backup' },
  ],
])

const OTHER: Meaning = {
  code: 'NP_STORAGE_IO',
  hint: 'look for errors of the disk in the kernel log, then start the server again',
}

/** An error of SQLite as a NodeProxyError with a code NP_STORAGE_…; any other error as it is. */
export function storageError(cause: unknown, file: string): unknown {
  if (!(cause instanceof Error) || !('errcode' in cause)) return cause
  const { code, hint } = MEANINGS.get(Number(cause.errcode) & PRIMARY_CODE) ?? OTHER
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
