import { NodeProxyError } from '../../../lib/error.ts'
import { openForReading } from '../database/database.ts'
import { withStorageErrors } from '../database/sqlite-error.ts'
import { refuseTruncatedWalAtRest } from '../wal/truncated-wal-at-rest.ts'
import { type Examine, type Finding, type Inspection, inspectDatabase } from './inspect.ts'

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
