import type { DatabaseSync } from 'node:sqlite'
import { messageOf, NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import { isMetaIntact } from './meta.ts'
import { hasOurTables } from './schema.ts'

/** How many problems SQLite reports for one database. */
const MAX_PROBLEMS = 100

/**
 * What is damaged in the structure of a database: pages, indexes, tables
 * and the row of revision counters. Does not check the rows of the log.
 */
export function structuralFaults(database: DatabaseSync): readonly string[] {
  try {
    const verdicts = database.prepare(`PRAGMA integrity_check(${MAX_PROBLEMS})`).all()
    const problems = verdicts
      .map((row) => String(row['integrity_check']))
      .filter((one) => one !== 'ok')
    if (problems.length > 0) return problems.flatMap((one) => one.split('\n'))
    if (!hasOurTables(database)) return ['its tables are not those that this program makes']
    return isMetaIntact(database) ? [] : ['the row of revision counters (meta) is damaged']
  } catch (error) {
    return [messageOf(error)]
  }
}

/** @throws NP_STORAGE_CORRUPT when the structure is damaged */
export function refuseDamagedStructure(database: DatabaseSync, file: string): void {
  const [first, ...more] = structuralFaults(database)
  if (first === undefined) return
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  throw new NodeProxyError('NP_STORAGE_CORRUPT', `${quote(file)} is damaged: ${first}${others}`, {
    object: file,
    hint: 'keep the file, restore the latest backup; orch-server check names everything that is damaged',
  })
}
