import { openForReading, openForWriting } from '../database.ts'
import { LogReader } from '../log-reader.ts'
import { LogWriter } from '../log-writer.ts'
import { type EmbeddedStore, SqliteStore } from '../sqlite-store.ts'
import type { WriterThread } from '../writer-thread.ts'

/** For tests that open very many stores: one that writes on this thread, and locks no directory. */
export function openInlineStore(file: string, now: number): EmbeddedStore {
  const database = openForWriting(file, now)
  const log = new LogWriter(database)
  const readable = openForReading(file)
  const writer: WriterThread = {
    obey: async (order) => {
      if (order.do === 'commit') return log.commit(order.group)
      if (order.do === 'compact') log.compact(order.revision)
      return []
    },
    end: async () => database.close(),
  }
  const retention = { revisions: 10_000, bytes: 64 << 20 }
  const store = new SqliteStore({ file, writer, reader: new LogReader(readable), retention })
  store.held.defer(() => database.close())
  store.held.defer(() => readable.close())
  return store
}
