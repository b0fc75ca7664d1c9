import type { DatabaseSync } from 'node:sqlite'
import { messageOf, NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import type { StoredEntry } from '../../store.ts'
import { openForReading } from '../database/database.ts'
import { LogReader } from '../database/log-reader.ts'
import { isIntact, logRow } from '../database/row-checksum.ts'
import { structuralFaults } from '../database/schema.ts'
import { checkSeal } from '../database/seal.ts'
import { withStorageErrors } from '../database/sqlite-error.ts'
import { refuseTruncatedWalAtRest } from '../truncated-wal.ts'

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
interface Inspection {
  /** Findings about the file first, then those about entries, by key. */
  readonly findings: readonly Finding[]
  /** Whether the file carries the checksum of its whole content; only backups do. */
  readonly isSealed: boolean
  /** How many entries the present state has. */
  readonly entries: number
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
  let entries = 0
  try {
    findings.push(...damagedRows(database))
    for (const entry of presentEntries(database)) {
      entries++
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
  return { findings, isSealed, entries }
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

/** How many findings one message names. */
const MAX_NAMED = 3

/**
 * Checks a store, which may be in use, or a backup, without changing it.
 * @throws NP_STORAGE_SCHEMA, NP_STORAGE_OPEN, …: the file could not be checked
 */
export function inspectFile(file: string, examine: Examine): Inspection {
  const lost = findingsOf(() => refuseTruncatedWalAtRest(file))
  if (lost.length > 0) return { findings: lost, isSealed: false, entries: 0 }
  let inspection: Inspection = { findings: [], isSealed: false, entries: 0 }
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
