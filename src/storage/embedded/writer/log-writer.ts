import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { LogReader } from '../database/log-reader.ts'
import { changeMeta } from '../database/meta.ts'
import { type LogRow, rowChecksum } from '../database/row-checksum.ts'
import type { PlainOperation, PlainTransaction, TransactionOutcome } from './writer-messages.ts'

/**
 * Appends to the log. A group of transactions is one SQLite transaction: one
 * flush makes all of them durable, or none. Each has its own comparison and
 * its own revision.
 */
export class LogWriter {
  readonly #database: DatabaseSync
  readonly #reader: LogReader
  readonly #newestOf: StatementSync
  readonly #append: StatementSync
  readonly #compaction: readonly StatementSync[]
  #newest: number

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#reader = new LogReader(database)
    this.#newestOf = database.prepare(
      'SELECT revision, created FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1',
    )
    this.#append = database.prepare(
      'INSERT INTO log (revision, key, created, value, checksum) VALUES (?, ?, ?, ?, ?)',
    )
    this.#compaction = COMPACTION.map((sql) => database.prepare(sql))
    this.#newest = this.#reader.bounds().newest
  }

  /**
   * Commits a group, which is on the disk when this returns.
   * @returns one outcome for each transaction, in order
   * @throws the errors of SQLite; then nothing of the group is stored
   */
  commit(group: readonly PlainTransaction[]): readonly TransactionOutcome[] {
    return this.#transact(() => group.map((transaction) => this.#apply(transaction)))
  }

  /** Removes every version that was superseded at or before `revision`. @throws the errors of SQLite */
  compact(revision: number): void {
    const upTo = Math.min(revision, this.#newest)
    if (upTo <= this.#reader.bounds().oldest) return
    this.#transact(() => {
      for (const statement of this.#compaction) statement.run({ upTo })
      changeMeta(this.#database, { oldest: upTo })
    })
  }

  /** Runs `work` as one SQLite transaction; if it throws, the file and `#newest` are unchanged. */
  #transact<Result>(work: () => Result): Result {
    const before = this.#newest
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      this.#newest = before
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  #apply({ compare, operations }: PlainTransaction): TransactionOutcome {
    const holds = compare.every(
      ({ key, modRevision }) => this.#present(key).revision === modRevision,
    )
    if (!holds) return { committed: false, revision: this.#newest }
    const revision = this.#newest + 1
    const changes = operations.filter((operation) => this.#change(operation, revision))
    if (changes.length > 0) this.#newest = revision
    return { committed: true, revision: this.#newest }
  }

  /** Whether the operation changes anything: deleting what is absent does not. */
  #change(operation: PlainOperation, revision: number): boolean {
    const { key } = operation
    const { created } = this.#present(key)
    if (operation.op === 'put') {
      this.#add({ revision, key, created: created || revision, value: operation.value })
      return true
    }
    if (created === 0) return false
    this.#add({ revision, key, created: 0, value: null })
    return true
  }

  #add(row: LogRow): void {
    this.#append.run(row.revision, row.key, row.created, row.value, rowChecksum(row))
  }

  /** The revisions that changed and created the entry of a key; both 0 when there is none. */
  #present(key: string): { readonly revision: number; readonly created: number } {
    const row = this.#newestOf.get(key)
    const created = Number(row?.['created'] ?? 0)
    return { created, revision: created === 0 ? 0 : Number(row?.['revision']) }
  }
}

/**
 * For each change since the last compaction, removes the older versions of its key, and the change
 * itself when it is a deletion. The work is proportional to the history that is removed, not to the log.
 */
const COMPACTION = [
  `DELETE FROM log WHERE id IN (
     SELECT older.id FROM log AS newer INDEXED BY by_revision
     JOIN log AS older INDEXED BY by_key
       ON older.key = newer.key AND older.revision < newer.revision
     WHERE newer.revision > (SELECT oldest FROM meta) AND newer.revision <= :upTo)`,
  `DELETE FROM log INDEXED BY by_revision
   WHERE revision > (SELECT oldest FROM meta) AND revision <= :upTo AND created = 0`,
]
