import { openForReading, openForWriting } from '../database/database.ts'
import { LogReader } from '../database/log-reader.ts'
import { type EmbeddedStore, SqliteStore } from '../embedded-store.ts'
import { LogWriter } from '../writer/log-writer.ts'
import type { WriterThread } from '../writer/writer-thread.ts'

/** For tests that open very many stores: one that writes on this thread, and locks no directory. */
export function openInlineStore(file: string, now: number): EmbeddedStore {
  const database = openForWriting(file, now)
  const log = new LogWriter(database)
  const readable = openForReading(file)
  const writer: WriterThread = {
    execute: async (command) => {
      if (command.do === 'commit') return log.commit(command.group)
      if (command.do === 'compact') log.compact(command.revision)
      return []
    },
    end: async () => database.close(),
  }
  const retention = { revisions: 10_000, bytes: 64 << 20 }
  const store = new SqliteStore({ file, writer, reader: new LogReader(readable), retention })
  store.resources.defer(() => database.close())
  store.resources.defer(() => readable.close())
  return store
}
