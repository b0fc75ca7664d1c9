import { NodeProxyError } from '../../lib/error.ts'
import { refuseDuplicateKeys } from '../distinct-keys.ts'
import { LogCursor } from '../log-cursor.ts'
import { Parking } from '../parking.ts'
import type {
  ListQuery,
  ListResult,
  Store,
  StoredEntry,
  Transaction,
  TxnResult,
  WatchQuery,
} from '../store.ts'
import { storageError } from './database/sqlite-error.ts'
import { CommittedLog } from './log/committed-log.ts'
import type { LogReader } from './log/log-reader.ts'
import { type Retention, RetentionRule } from './log/retention.ts'
import { GroupCommit } from './writer/group-commit.ts'
import type { WriterThread } from './writer/writer-thread.ts'

/** Errors of a read after which the store must be opened anew; others, such as a lock, pass. */
const LASTING: ReadonlySet<string> = new Set(['NP_STORAGE_CORRUPT', 'NP_STORAGE_IO'])

/** The open parts of a store. */
export interface StoreParts {
  /** Path of the database, for error messages. */
  readonly file: string
  readonly writer: WriterThread
  readonly reader: LogReader
  readonly retention: Retention
}

/** A store in one directory of this machine. */
export interface EmbeddedStore extends Store {
  /** Resolves with the reason when the store failed and must be opened anew. */
  readonly broken: Promise<Error>
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

  /** Ends the store when the read found damage. @returns what the read throws */
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
