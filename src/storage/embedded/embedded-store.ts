import { type Clock, systemClock } from '../../lib/clock.ts'
import { openForReading, openForWriting } from './database/database.ts'
import { lockDirectory } from './directory/directory-lock.ts'
import { prepareFile } from './directory/store-file.ts'
import { LogReader } from './log/log-reader.ts'
import { type EmbeddedStore, SqliteStore } from './sqlite-store.ts'
import { refuseTruncatedWal } from './wal/truncated-wal.ts'
import { startWriter } from './writer/writer-thread.ts'

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
