import { type Clock, systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { refuseDuplicateKeys } from '../distinct-keys.ts'
import { LogCursor, Parking } from '../log-cursor.ts'
import type {
  ListQuery,
  ListResult,
  Store,
  StoredEntry,
  Transaction,
  TxnResult,
  WatchQuery,
} from '../store.ts'
import { CommittedLog } from './committed-log.ts'
import { openForReading, openForWriting } from './database/database.ts'
import { type Bounds, LogReader } from './database/log-reader.ts'
import { storageError } from './database/sqlite-error.ts'
import { lockDirectory } from './directory-lock.ts'
import { prepareFile } from './store-file.ts'
import { refuseTruncatedWal } from './truncated-wal.ts'
import { GroupCommit } from './writer/group-commit.ts'
import { startWriter, type WriterThread } from './writer/writer-thread.ts'

/** History is shortened only when it exceeds its limit by a sixteenth, so that not every commit compacts. */
const EXCESS_DIVISOR = 16

/** Errors of a read after which the store must be reopened; others, such as a lock, are temporary. */
const LASTING: ReadonlySet<string> = new Set(['NP_STORAGE_CORRUPT', 'NP_STORAGE_IO'])

/** A store in one directory of this machine. */
export interface EmbeddedStore extends Store {
  /** Resolves with the reason when the store failed and must be opened anew. */
  readonly broken: Promise<Error>
}

export interface EmbeddedStoreOptions {
  /** The data directory. Created if it is missing; one process at a time can open it. */
  readonly directory: string
  /** Revisions of history that are kept. Default 10,000. */
  readonly historyRevisions?: number
  /** Bytes of values that the history may hold before it is shortened. Default 64 MiB. */
  readonly historyBytes?: number
  /** Default: the system's clock. */
  readonly clock?: Clock
}

/**
 * Opens a store on SQLite: what it acknowledged is on the disk. One thread writes and
 * waits for the disk; this thread reads, in small pieces, on a connection of
 * its own.
 * @throws NP_STORAGE_LOCKED, NP_STORAGE_OPEN, NP_STORAGE_CORRUPT, NP_STORAGE_SCHEMA, …
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { directory, clock = systemClock, historyRevisions = 10_000 } = options
  const { historyBytes = 64 << 20 } = options
  await using opened = new AsyncDisposableStack()
  const lock = lockDirectory(directory)
  opened.defer(() => lock.release())
  const file = prepareFile(directory, (made) => openForWriting(made, clock.now()).close())
  refuseTruncatedWal(file)
  const writer = await startWriter({ file, now: clock.now() })
  opened.defer(() => writer.end())
  const database = openForReading(file)
  opened.defer(() => database.close())
  const retention = { revisions: historyRevisions, bytes: historyBytes }
  const store = new SqliteStore({ file, writer, reader: new LogReader(database), retention })
  store.resources.use(opened.move())
  return store
}

/** The open parts of a store. */
interface StoreParts {
  /** Path of the database, for error messages. */
  readonly file: string
  readonly writer: WriterThread
  readonly reader: LogReader
  readonly retention: Retention
}

/** The `Store` on an open database: the writer commits, the log reads what was committed. */
export class SqliteStore implements EmbeddedStore {
  /** Released when the store is closed. */
  readonly resources = new AsyncDisposableStack()
  readonly #file: string
  readonly #log: CommittedLog
  readonly #commits: GroupCommit
  readonly #retention: RetentionRule
  readonly #parking = new Parking()
  readonly #broken = Promise.withResolvers<Error>()

  constructor({ file, writer, reader, retention }: StoreParts) {
    this.#file = file
    this.#log = new CommittedLog(reader, (error) => this.#readFailed(error))
    this.#retention = new RetentionRule(retention, (...query) => reader.overflow(...query))
    this.#commits = new GroupCommit(writer, {
      committed: (newest) => this.#committed(newest),
      failed: (error) => this.#failed(error),
    })
  }

  get broken(): Promise<Error> {
    return this.#broken.promise
  }

  async revision(): Promise<number> {
    return this.#log.bounds().newest
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    return this.#log.at(key)
  }

  list(query: ListQuery): Promise<ListResult> {
    return this.#log.list(query)
  }

  async txn(transaction: Transaction): Promise<TxnResult> {
    refuseDuplicateKeys(transaction.operations)
    const { committed, revision } = await this.#commits.commit(transaction)
    if (committed) {
      this.#retention.wrote(bytesOf(transaction))
      return { committed, revision }
    }
    const current = transaction.compare.map(({ key }) => this.#log.at(key, revision))
    return { committed, revision, current }
  }

  watch(query: WatchQuery): LogCursor {
    return new LogCursor(this.#log, this.#parking, query)
  }

  async compact(revision: number): Promise<void> {
    const before = this.#log.bounds().oldest
    this.#log.forget(revision)
    await this.#commits.compact(before, this.#log.bounds().oldest)
  }

  async close(): Promise<void> {
    this.#parking.close()
    await this.#commits.close()
    this.#log.fail(new NodeProxyError('NP_STORAGE_CLOSED', 'the store is closed'))
    await this.resources.disposeAsync()
  }

  #committed(newest: number): void {
    this.#log.acknowledge(newest)
    // The commit is valid even if this fails; the next commit tries again.
    this.#shorten().catch(() => undefined)
    this.#parking.wakeAll()
  }

  async #shorten(): Promise<void> {
    const due = this.#retention.due(this.#log.bounds())
    if (due !== undefined) await this.compact(due)
  }

  /** Ends the store if a read found damage. @returns the error that the read throws */
  #readFailed(error: unknown): unknown {
    const known = storageError(error, this.#file)
    if (known instanceof NodeProxyError && LASTING.has(known.code)) this.#commits.fail(known)
    return known
  }

  #failed(error: Error): void {
    this.#log.fail(error)
    this.#parking.wakeAll()
    this.#broken.resolve(error)
  }
}

function bytesOf({ operations }: Transaction): number {
  return operations.reduce((sum, one) => sum + (one.op === 'put' ? one.value.length : 0), 0)
}

/** How much history a store keeps for watches and lists of the past. */
interface Retention {
  readonly revisions: number
  /** Bytes of values. */
  readonly bytes: number
}

/**
 * Decides when history becomes too long. Called after every group of commits;
 * measuring bytes reads the log, so it is done only when enough was written.
 */
export class RetentionRule {
  readonly #retention: Retention
  readonly #overflow: (oldest: number, bytes: number) => number | undefined
  /** Bytes written since the history was measured. */
  #unmeasured = 0

  /** `overflow` measures the history: `LogReader.overflow`. */
  constructor(
    retention: Retention,
    overflow: (oldest: number, bytes: number) => number | undefined,
  ) {
    this.#retention = retention
    this.#overflow = overflow
  }

  /** Adds the bytes of values that a commit wrote. */
  wrote(bytes: number): void {
    this.#unmeasured += bytes
  }

  /** The revision up to which history is to be removed now; undefined when it is short enough. */
  due({ oldest, newest }: Bounds): number | undefined {
    const { revisions, bytes } = this.#retention
    if (newest - oldest > revisions + Math.ceil(revisions / EXCESS_DIVISOR))
      return newest - revisions
    if (this.#unmeasured <= bytes / EXCESS_DIVISOR) return undefined
    this.#unmeasured = 0
    const revision = this.#overflow(oldest, bytes)
    return revision === undefined ? undefined : Math.min(revision, newest - 1)
  }
}
