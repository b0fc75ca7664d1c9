import type { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../../lib/error.ts'
import type { StoredEntry } from '../../store.ts'
import { isIntact, logRow } from '../database/row-checksum.ts'
import { checkSeal } from '../database/seal.ts'
import { structuralFaults } from '../database/structure.ts'
import { LogReader } from '../log/log-reader.ts'

/** Checks the value of an entry. @returns why the server cannot serve it; undefined: it can */
export type Examine = (entry: StoredEntry) => string | undefined

/** One damaged part of a store. */
export interface Finding {
  /** The key of the damaged entry; empty: the file as a whole. */
  readonly key: string
  /** What is wrong with it, as the end of a sentence. */
  readonly cause: string
}

/** The result of an inspection. */
export interface Inspection {
  /** Findings about the file first, then those about entries, by key. */
  readonly findings: readonly Finding[]
  /** Whether the file carries the checksum of its whole content; only backups do. */
  readonly isSealed: boolean
  /** How many keys the present state has. */
  readonly keys: number
}

/** Entries of the present state that are read at once. */
const PAGE = 500

/**
 * Checks the whole content of a database: its structure, the checksum of
 * each row, the values of the present state, and the seal of a backup. Damage is a finding, not an error.
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
      // damagedRows has reported the entries with a wrong checksum.
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
