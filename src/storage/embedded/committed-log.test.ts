import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { put } from '../testing/conformance-steps.ts'
import { CommittedLog } from './committed-log.ts'
import { openForWriting } from './database/database.ts'
import { LogReader } from './database/log-reader.ts'
import { newDirectory } from './testing/fixtures.ts'
import { LogWriter } from './writer/log-writer.ts'

const NAMES = Array.from({ length: 1200 }, (_, index) => `/${String(index).padStart(4, '0')}`)

function newLog() {
  const database = openForWriting(join(newDirectory(), 'store.sqlite'), 0)
  onTestFinished(() => database.close())
  const writer = new LogWriter(database)
  const writeAll = (value: string) =>
    writer.commit([{ compare: [], operations: NAMES.map((name) => put(name, value)) }])
  writeAll('old')
  return { writer, writeAll, log: new CommittedLog(new LogReader(database), (error) => error) }
}

/** A list of three chunks; the first is read before everything is replaced and compacted. */
async function listMeanwhile(revision?: number) {
  const { writer, writeAll, log } = newLog()
  const listing = log.list(revision === undefined ? { prefix: '/' } : { prefix: '/', revision })
  writeAll('new')
  log.acknowledge(2)
  log.forget(2)
  writer.compact(2)
  return await listing
}

test('a list without a revision is read again when compaction passes its revision', async () => {
  const page = await listMeanwhile()
  expect(page.refused ?? page.entries.map(({ value }) => String(value))).toEqual(
    NAMES.map(() => 'new'),
  )
})

test('a list of a revision that is compacted meanwhile is refused, not shortened', async () => {
  expect(await listMeanwhile(1)).toEqual({ refused: 'compacted', oldest: 2, newest: 2 })
})

test('changes that are in the file but not acknowledged are not read', async () => {
  const { writeAll, log } = newLog()
  writeAll('new')
  expect(String(log.at('/0000')?.value)).toBe('old')
  const page = await log.list({ prefix: '/', limit: 1 })
  expect(page.refused ?? String(page.entries[0]?.value)).toBe('old')
  expect(log.changes('/', 0).events).toHaveLength(NAMES.length)
})

test('after a failure every read throws it', async () => {
  const { log } = newLog()
  const failure = new Error('lost')
  log.fail(failure)
  expect(() => log.at('/0000')).toThrow(failure)
  expect(() => log.changes('/', 0)).toThrow(failure)
  await expect(log.list({ prefix: '/' })).rejects.toBe(failure)
})
