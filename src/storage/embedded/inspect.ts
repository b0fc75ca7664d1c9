import type { DatabaseSync } from 'node:sqlite'
import type { StoredEntry } from '../store.ts'
import { LogReader } from './log-reader.ts'
import { isIntact, logRow } from './row-checksum.ts'
import { checkSeal } from './seal.ts'
import { structuralFaults } from './structure.ts'

/** Why the value of an entry is none that the server can serve; undefined: it is one. */
export type Examine = (entry: StoredEntry) => string | undefined

/** Something of a store that is damaged. */
export interface Finding {
  /** Empty: the file as a whole. */
  readonly key: string
  readonly cause: string
}

export interface Inspection {
  /** The file first, then keys in order. */
  readonly findings: readonly Finding[]
  /** Whether the file carries the checksum of its whole content; only backups do. */
  readonly isSealed: boolean
  /** Keys of the present state. */
  readonly keys: number
}

/** Entries of the present state that are read at once. */
const PAGE = 500

/**
 * Looks at everything that a database holds: its structure, the checksum of
 * each row, the values of the present state, and the seal of a backup.
 */
export function inspectDatabase(database: DatabaseSync, examine: Examine): Inspection {
  const structure = structuralFaults(database).map(ofTheFile)
  const findings = [...structure]
  let isSealed = false
  let keys = 0
  try {
    findings.push(...damagedRows(database))
    for (const entry of presentEntries(database)) {
      keys++
      // The rows above have named those whose bytes are not what was written.
      const cause = entry.damaged === true ? undefined : examine(entry)
      if (cause !== undefined) findings.push({ key: entry.key, cause })
    }
    const seal = checkSeal(database)
    isSealed = seal !== 'none'
    const isUnexplained = seal === 'differs' && findings.length === 0
    if (isUnexplained)
      findings.push(ofTheFile('its content has another checksum than when it was written'))
  } catch (error) {
    if (structure.length === 0) findings.push(ofTheFile(messageOf(error)))
  }
  return { findings, isSealed, keys }
}

function* damagedRows(database: DatabaseSync): Generator<Finding> {
  for (const row of database.prepare('SELECT * FROM log ORDER BY key, revision').iterate()) {
    if (isIntact(row)) continue
    const { key, revision } = logRow(row)
    yield { key, cause: `its value of revision ${revision} is not the one that was written` }
  }
}

function* presentEntries(database: DatabaseSync): Generator<StoredEntry> {
  const reader = new LogReader(database)
  const revision = reader.bounds().newest
  let after = ''
  while (true) {
    const entries = reader.list({ prefix: '', after, revision }, PAGE)
    yield* entries
    if (entries.length < PAGE) return
    after = entries.at(-1)!.key
  }
}

function ofTheFile(cause: string): Finding {
  return { key: '', cause }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
