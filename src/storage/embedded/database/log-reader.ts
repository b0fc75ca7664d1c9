import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { bufferOver } from '../../../lib/own-buffer.ts'
import type { StoredEntry, StoreEvent } from '../../store.ts'
import { isIntact, logRow } from './row-checksum.ts'

/** Sorts after every key, because keys are ASCII. */
const AFTER_ALL_KEYS = '\u{10ffff}'

/** The keys to read: those under a prefix that sort after a key, as they were at a revision. */
interface KeyRange {
  readonly prefix: string
  readonly after: string
  readonly revision: number
}

/** The revisions of a log that can be read: `oldest` ≤ revision ≤ `newest`. */
export interface Bounds {
  readonly oldest: number
  readonly newest: number
}

/** `max(revision)` makes SQLite take the other columns from that row (sqlite.org/lang_select.html#bareagg). */
const PRESENT = `
  SELECT id, key, max(revision), created FROM log
  WHERE key >= :prefix AND key > :after AND key < :end AND revision <= :revision
  GROUP BY key HAVING created > 0`

/** Queries of the table `log`. Every query names a revision, so it does not see later commits. */
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
      `SELECT log.* FROM (${PRESENT} ORDER BY key LIMIT :limit) AS found
       JOIN log ON log.id = found.id ORDER BY found.key`,
    )
    this.#count = database.prepare(`SELECT count(*) AS count FROM (${PRESENT})`)
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

  /** The point of this store. */
  point(): RevisionPoint {
    const row = this.#meta.get()!
    return { revision: Number(row['line_revision']), time: Number(row['line_time']) }
  }

  /** The entry of `key` at `revision`; undefined: there was none. */
  at(key: string, revision: number): StoredEntry | undefined {
    const row = this.#at.get(key, revision)
    return row === undefined ? undefined : entryOf(row)
  }

  /** At most `limit` entries, sorted by key. */
  list(range: KeyRange, limit: number): readonly StoredEntry[] {
    return this.#list.all({ ...parametersOf(range), limit }).flatMap((row) => entryOf(row) ?? [])
  }

  /** How many entries there are. */
  count(range: KeyRange): number {
    return Number(this.#count.get(parametersOf(range))!['count'])
  }

  /**
   * The changes of `after` < revision ≤ `upTo` under a prefix, in commit order, read one by one.
   * A damaged change is left out when a later one in that range changed the same key.
   */
  *events(prefix: string, after: number, upTo: number): Generator<StoreEvent> {
    for (const row of this.#events.iterate({ prefix, end: prefix + AFTER_ALL_KEYS, after, upTo })) {
      const { key, revision } = logRow(row)
      const isLost = !isIntact(row) && this.#isSuperseded.get(key, revision, upTo) !== undefined
      if (!isLost) yield { key, revision, entry: entryOf(row) }
    }
  }

  /**
   * The newest revision after `oldest` whose values, together with those of all later revisions, exceed `bytes`;
   * undefined if all values after `oldest` do not.
   */
  overflow(oldest: number, bytes: number): number | undefined {
    const row = this.#overflow.get(oldest, bytes)
    return row === undefined ? undefined : Number(row['revision'])
  }
}

function parametersOf({ prefix, after, revision }: KeyRange) {
  return { prefix, after, end: prefix + AFTER_ALL_KEYS, revision }
}

function entryOf(row: Record<string, unknown>): StoredEntry | undefined {
  const { key, revision, created, value } = logRow(row)
  if (created === 0) return undefined
  const bytes = (value ?? new Uint8Array()) as Uint8Array<ArrayBuffer>
  return {
    key,
    value: bufferOver(bytes),
    createRevision: created,
    modRevision: revision,
    ...(isIntact(row) ? {} : { damaged: true }),
  }
}

/** No store commits as many revisions per second: a commit takes longer than 10 µs. */
const MAX_REVISIONS_PER_SECOND = 100_000

/** The clock error that is tolerated, in milliseconds. */
const MAX_CLOCK_ERROR_MS = 3 * 3_600_000

/**
 * A point on a line that revisions never cross: a store had the newest revision `revision` at `time`, and it
 * takes fewer than MAX_REVISIONS_PER_SECOND revisions per second from then on. A backup contains the point of
 * its store, so a restore knows an upper bound of the revisions that the lost store has used since the backup.
 */
interface RevisionPoint {
  readonly revision: number
  /** Milliseconds since the Unix epoch. */
  readonly time: number
}

/**
 * A revision above every revision that a store with this point can have used by `now` (milliseconds since the
 * Unix epoch).
 */
export function revisionBeyond(point: RevisionPoint, now: number): number {
  const elapsed = Math.max(0, now - point.time) + MAX_CLOCK_ERROR_MS
  return point.revision + Math.ceil((elapsed / 1000) * MAX_REVISIONS_PER_SECOND)
}
