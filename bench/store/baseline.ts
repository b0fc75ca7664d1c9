import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { openForWriting } from '../../src/storage/embedded/database/database.ts'
import { LogWriter } from '../../src/storage/embedded/writer/log-writer.ts'
import { VALUE } from './writers.ts'

/** The number of appends of `bytes` bytes that can be flushed to disk per second: the bound for one writer. */
export function flushesPerSecond(file: string, milliseconds: number, bytes = 4096): number {
  const descriptor = openSync(file, 'w')
  const page = Buffer.alloc(bytes, 'x')
  const start = performance.now()
  let count = 0
  for (; performance.now() - start < milliseconds; count++) {
    writeSync(descriptor, page)
    fdatasyncSync(descriptor)
  }
  closeSync(descriptor)
  return (count * 1000) / (performance.now() - start)
}

/** The same transactions, committed by this thread, with turns of the event loop in between. */
export async function ownThreadPerSecond(file: string, milliseconds: number): Promise<number> {
  const database = openForWriting(file, Date.now())
  const writer = new LogWriter(database)
  const start = performance.now()
  let count = 0
  for (; performance.now() - start < milliseconds; count++) {
    const key = `/bench/${crypto.randomUUID()}`
    writer.commit([{ compare: [], operations: [{ op: 'put', key, value: VALUE }] }])
    await setImmediate()
  }
  database.close()
  return (count * 1000) / (performance.now() - start)
}
