import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import { openForReading } from '../database/database.ts'
import { withStorageErrors } from '../database/sqlite-error.ts'
import { refuseTruncatedWalAtRest } from '../truncated-wal-at-rest.ts'
import { type Examine, type Finding, type Inspection, inspectDatabase } from './inspect.ts'

/** How many findings one message names. */
const MAX_NAMED = 3

/**
 * Checks a store, which may be in use, or a backup, without changing it.
 * @throws NP_STORAGE_SCHEMA, NP_STORAGE_OPEN, …: the file could not be checked
 */
export function inspectFile(file: string, examine: Examine): Inspection {
  const lost = findingsOf(() => refuseTruncatedWalAtRest(file))
  if (lost.length > 0) return { findings: lost, isSealed: false, keys: 0 }
  let inspection: Inspection = { findings: [], isSealed: false, keys: 0 }
  const damage = findingsOf(() => {
    inspection = withStorageErrors(file, () => {
      const database = openForReading(file)
      try {
        return inspectDatabase(database, examine)
      } finally {
        database.close()
      }
    })
  })
  return { ...inspection, findings: [...damage, ...inspection.findings] }
}

function findingsOf(work: () => void): readonly Finding[] {
  try {
    work()
    return []
  } catch (error) {
    if (!(error instanceof NodeProxyError) || error.code !== 'NP_STORAGE_CORRUPT') throw error
    return [{ key: '', cause: error.message }]
  }
}

/** NP_STORAGE_CORRUPT for a file; `what` begins the message, such as `the backup`. */
export function damagedError(
  what: string,
  object: string,
  { findings, hint }: { readonly findings: readonly Finding[]; readonly hint: string },
): NodeProxyError {
  const named = findings.slice(0, MAX_NAMED).map(describeFinding)
  const more = findings.length - named.length
  const others = more > 0 ? `; and ${more} more` : ''
  const message = `${what} ${quote(object)} is damaged: ${named.join('; ')}${others}`
  return new NodeProxyError('NP_STORAGE_CORRUPT', message, { object, hint })
}

/** One line for operators. */
export function describeFinding({ key, cause }: Finding): string {
  return key === '' ? cause : `${quote(key)}: ${cause}`
}
