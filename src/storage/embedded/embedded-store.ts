import { type Clock, systemClock } from '../../lib/clock.ts'
import { refuseCutLog } from './cut-log.ts'
import { openForReading, openForWriting } from './database.ts'
import { lockDirectory } from './directory-lock.ts'
import { LogReader } from './log-reader.ts'
import { type EmbeddedStore, SqliteStore } from './sqlite-store.ts'
import { prepareFile } from './store-file.ts'
import { startWriter } from './writer-thread.ts'

export interface EmbeddedStoreOptions {
  /** Made if it does not exist; held by one process at a time. */
  readonly directory: string
  /** Revisions of history that are kept. Default 10,000. */
  readonly historyRevisions?: number
  /** Bytes of values that the history may hold before it is shortened. Default 64 MiB. */
  readonly historyBytes?: number
  readonly clock?: Clock
}

/**
 * A store on SQLite: what it acknowledged is on the disk. One thread writes and
 * waits for the disk; reads happen here, in small pieces, on a connection of
 * their own.
 * @throws NP_STORAGE_LOCKED, NP_STORAGE_OPEN, NP_STORAGE_CORRUPT, NP_STORAGE_SCHEMA, …
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { directory, clock = systemClock, historyRevisions = 10_000 } = options
  const { historyBytes = 64 << 20 } = options
  await using opened = new AsyncDisposableStack()
  const lock = lockDirectory(directory)
  opened.defer(() => lock.release())
  const file = prepareFile(directory, (made) => openForWriting(made, clock.now()).close())
  refuseCutLog(file)
  const writer = await startWriter({ file, now: clock.now() })
  opened.defer(() => writer.end())
  const database = openForReading(file)
  opened.defer(() => database.close())
  const retention = { revisions: historyRevisions, bytes: historyBytes }
  const store = new SqliteStore({ file, writer, reader: new LogReader(database), retention })
  store.held.use(opened.move())
  return store
}
