import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { StoredEntry, StoreEvent } from '../store.ts'
import type { RevisionPoint } from './revision-line.ts'
import { isIntact, logRow } from './row-checksum.ts'

/** Sorts after every key: keys are ASCII. */
const LAST = '\u{10ffff}'

/** The keys to read: those under a prefix beyond a key, as they were at a revision. */
export interface KeyRange {
  readonly prefix: string
  readonly after: string
  readonly revision: number
}

/** Which revisions of a log can be read. */
export interface Bounds {
  readonly oldest: number
  readonly newest: number
}

/** `max(revision)` makes SQLite take the other columns from that row (sqlite.org/lang_select.html#bareagg). */
const present = `
  SELECT id, key, max(revision), created FROM log
  WHERE key >= :prefix AND key > :after AND key < :end AND revision <= :revision
  GROUP BY key HAVING created > 0`

/**
 * The questions that the log answers. Every answer is bound to a revision, so
 * what is committed meanwhile cannot be seen.
 */
export class LogReader {
  readonly #bounds: StatementSync
  readonly #meta: StatementSync
  readonly #at: StatementSync
  readonly #list: StatementSync
  readonly #count: StatementSync
  readonly #events: StatementSync
  readonly #overflow: StatementSync
  readonly #isSuperseded: StatementSync

  constructor(database: DatabaseSync) {
    this.#bounds = database.prepare(
      'SELECT oldest, max(oldest, ifnull((SELECT max(revision) FROM log), 0)) AS newest FROM meta',
    )
    this.#meta = database.prepare('SELECT * FROM meta')
    this.#at = database.prepare(
      'SELECT * FROM log WHERE key = ? AND revision <= ? ORDER BY revision DESC LIMIT 1',
    )
    this.#list = database.prepare(
      `SELECT log.* FROM (${present} ORDER BY key LIMIT :limit) AS found
       JOIN log ON log.id = found.id ORDER BY found.key`,
    )
    this.#count = database.prepare(`SELECT count(*) AS count FROM (${present})`)
    this.#events = database.prepare(
      `SELECT * FROM log WHERE revision > :after AND revision <= :upTo
       AND key >= :prefix AND key < :end ORDER BY revision, id`,
    )
    this.#isSuperseded = database.prepare(
      'SELECT 1 FROM log WHERE key = ? AND revision > ? AND revision <= ? LIMIT 1',
    )
    this.#overflow = database.prepare(
      `SELECT revision FROM (
         SELECT revision, sum(length(value)) OVER (ORDER BY revision DESC, id DESC) AS bytes
         FROM log WHERE revision > ?
       ) WHERE bytes > ? ORDER BY revision DESC LIMIT 1`,
    )
  }

  bounds(): Bounds {
    const row = this.#bounds.get()!
    return { oldest: Number(row['oldest']), newest: Number(row['newest']) }
  }

  /** A point on the line below which all revisions of this history are. */
  point(): RevisionPoint {
    const row = this.#meta.get()!
    return { revision: Number(row['line_revision']), time: Number(row['line_time']) }
  }

  /** What `key` held at `revision`. */
  at(key: string, revision: number): StoredEntry | undefined {
    const row = this.#at.get(key, revision)
    return row === undefined ? undefined : entryOf(row)
  }

  list(range: KeyRange, limit: number): readonly StoredEntry[] {
    return this.#list.all({ ...parametersOf(range), limit }).flatMap((row) => entryOf(row) ?? [])
  }

  count(range: KeyRange): number {
    return Number(this.#count.get(parametersOf(range))!['count'])
  }

  /**
   * The changes of `after` < revision ≤ `upTo` under a prefix, in commit order, read one by one.
   * A damaged one that was superseded since is left out: what came after it is the state.
   */
  *events(prefix: string, after: number, upTo: number): Generator<StoreEvent> {
    for (const row of this.#events.iterate({ prefix, end: prefix + LAST, after, upTo })) {
      const { key, revision } = logRow(row)
      const isLost = !isIntact(row) && this.#isSuperseded.get(key, revision, upTo) !== undefined
      if (!isLost) yield { key, revision, entry: entryOf(row) }
    }
  }

  /** The newest revision whose values, with all newer ones, exceed `bytes`; none if all fit. */
  overflow(oldest: number, bytes: number): number | undefined {
    const row = this.#overflow.get(oldest, bytes)
    return row === undefined ? undefined : Number(row['revision'])
  }
}

function parametersOf({ prefix, after, revision }: KeyRange) {
  return { prefix, after, end: prefix + LAST, revision }
}

function entryOf(row: Record<string, unknown>): StoredEntry | undefined {
  const { key, revision, created, value } = logRow(row)
  if (created === 0) return undefined
  const bytes = (value ?? new Uint8Array()) as Uint8Array<ArrayBuffer>
  return {
    key,
    value: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    createRevision: created,
    modRevision: revision,
    ...(isIntact(row) ? {} : { damaged: true }),
  }
}
