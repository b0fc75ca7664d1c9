import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { put, remove } from '../../testing/conformance-steps.ts'
import { openForWriting } from '../database/database.ts'
import { LogReader } from '../database/log-reader.ts'
import { storageError } from '../database/sqlite-error.ts'
import { newDirectory } from '../testing/fixtures.ts'
import { LogWriter } from './log-writer.ts'

function newLog() {
  const database = openForWriting(join(newDirectory(), 'store.sqlite'), 0)
  onTestFinished(() => database.close())
  const rows = () => Number(database.prepare('SELECT count(*) AS n FROM log').get()?.['n'])
  return { database, writer: new LogWriter(database), reader: new LogReader(database), rows }
}

test('each transaction of a group compares with the changes of those before it', () => {
  const { writer } = newLog()
  const create = { compare: [{ key: '/a', modRevision: 0 }], operations: [put('/a', 'x')] }
  const removal = { compare: [{ key: '/a', modRevision: 1 }], operations: [remove('/a')] }
  expect(writer.commit([create, create, removal, create])).toEqual([
    { committed: true, revision: 1 },
    { committed: false, revision: 1 },
    { committed: true, revision: 2 },
    { committed: true, revision: 3 },
  ])
})

test('a group that does not fit on the disk leaves nothing behind, and the next one succeeds', () => {
  const { database, writer, reader, rows } = newLog()
  writer.commit([{ compare: [], operations: [put('/a', 'x')] }])
  const { page_count: pages } = database.prepare('PRAGMA page_count').get()!
  database.exec(`PRAGMA max_page_count = ${Number(pages) + 4}`)
  const large = { compare: [], operations: [put('/b', 'x'), put('/c', 'x'.repeat(100_000))] }
  const small = { compare: [], operations: [put('/d', 'x')] }
  expect(refusalOf(() => writer.commit([small, large]))).toMatchObject({
    code: 'NP_STORAGE_FULL',
    hint: expect.stringContaining('the write that failed had no effect'),
  })
  expect([rows(), reader.bounds().newest]).toEqual([1, 1])
  expect(writer.commit([small])).toEqual([{ committed: true, revision: 2 }])
})

test('a group with a transaction that the log refuses leaves nothing behind', () => {
  const { writer, rows } = newLog()
  const refused = { compare: [], operations: [put('/b', 'x'), put('/b', 'x')] }
  expect(() => writer.commit([{ compare: [], operations: [put('/a', 'x')] }, refused])).toThrow(
    'UNIQUE',
  )
  expect(rows()).toBe(0)
})

test('compaction leaves one row for each key that exists, none for one that does not', () => {
  const { writer, rows } = newLog()
  for (let round = 0; round < 5; round++) {
    const operations = [put('/kept', 'x'), put(`/gone/${round}`, 'x')]
    writer.commit([{ compare: [], operations }])
    writer.commit([{ compare: [], operations: [remove(`/gone/${round}`)] }])
  }
  writer.compact(4)
  expect(rows()).toBe(1 + 3 * 3)
  writer.compact(10)
  expect(rows()).toBe(1)
})

function refusalOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return storageError(error, 'store')
  }
}
