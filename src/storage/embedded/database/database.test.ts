import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { put, remove, write } from '../../testing/conformance-steps.ts'
import { writeBackup } from '../backup/backup.ts'
import { restoreEmbeddedStore } from '../backup/restore.ts'
import { newDirectory, newStore, toFirstSchema } from '../testing/fixtures.ts'
import { openForReading, openForWriting } from './database.ts'

test('a store with a newer schema is refused', async () => {
  const store = await newStore()
  const file = join(store.directory, 'store.sqlite')
  await store.close()
  const database = new DatabaseSync(file)
  database.exec('PRAGMA user_version = 3')
  database.close()
  await expect(newStore({ directory: store.directory })).rejects.toMatchObject({
    code: 'NP_STORAGE_SCHEMA',
    object: file,
  })
})

test('a database that is no store is refused by readers', () => {
  const file = join(newDirectory(), 'other.sqlite')
  new DatabaseSync(file).close()
  expect(() => openForReading(file)).toThrow(expect.objectContaining({ code: 'NP_STORAGE_SCHEMA' }))
})

test.each([
  ['our tables without their version', 'CREATE TABLE log (id); CREATE TABLE meta (one)'],
  ['tables of another program', 'CREATE TABLE other (id)'],
  ['tables of another program, in a version', 'CREATE TABLE other (id); PRAGMA user_version = 1'],
])('a database with %s is no store', async (_, sql) => {
  const directory = newDirectory()
  const database = new DatabaseSync(join(directory, 'store.sqlite'))
  database.exec(sql)
  database.close()
  await expect(newStore({ directory })).rejects.toMatchObject({
    code: 'NP_STORAGE_SCHEMA',
    message: expect.stringContaining('not a store'),
  })
})

test('a store that names its history in a column that is not used any more opens and serves', async () => {
  const before = await newStore()
  const { directory } = before
  await write(before, put('/a', '1'))
  await before.close()
  toFirstSchema(join(directory, 'store.sqlite'))
  const database = new DatabaseSync(join(directory, 'store.sqlite'))
  database.exec(`
    CREATE TABLE old (
      one INTEGER PRIMARY KEY CHECK (one = 1), epoch TEXT NOT NULL, oldest INTEGER NOT NULL,
      line_revision INTEGER NOT NULL, line_time INTEGER NOT NULL
    ) STRICT;
    INSERT INTO old SELECT one, 'a name', oldest, line_revision, line_time FROM meta;
    DROP TABLE meta;
    ALTER TABLE old RENAME TO meta;`)
  database.close()
  const store = await newStore({ directory })
  await store.compact(await write(store, put('/a', '2')))
  const from = join(newDirectory(), 'backup')
  await writeBackup(join(directory, 'store.sqlite'), from)
  await store.close()
  const { revision } = await restoreEmbeddedStore({ from, directory })
  const restored = await newStore({ directory })
  expect([await restored.revision(), String((await restored.get('/a'))?.value)]).toEqual([
    revision,
    '2',
  ])
})

test('a damaged file is NP_STORAGE_CORRUPT, and the directory is unlocked again', async () => {
  const store = await newStore()
  await write(store, put('/a', '1'))
  const { directory } = store
  await store.close()
  writeFileSync(join(directory, 'store.sqlite'), Buffer.alloc(8192, 'damage'))
  const corrupt = { code: 'NP_STORAGE_CORRUPT' }
  await expect(newStore({ directory })).rejects.toMatchObject(corrupt)
  await expect(newStore({ directory })).rejects.toMatchObject(corrupt)
})

test('the error for an unusable directory names it', async () => {
  const directory = join(newDirectory(), 'file')
  writeFileSync(directory, '')
  await expect(newStore({ directory })).rejects.toMatchObject({
    code: 'NP_STORAGE_OPEN',
    object: directory,
  })
})

test('a commit returns only when it is on the disk', () => {
  const database = openForWriting(join(newDirectory(), 'store.sqlite'), 0)
  expect(database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  database.close()
})

test('a store of schema 1 gets checksums when it is opened, and keeps its history', async () => {
  const before = await newStore()
  const { directory } = before
  const file = join(directory, 'store.sqlite')
  const first = await write(before, put('/a', '1'), put('/gone', '1'))
  await write(before, put('/a', 'zwei €'), remove('/gone'))
  await before.close()
  toFirstSchema(file)
  const store = await newStore({ directory })
  const past = await store.list({ prefix: '/', revision: first })
  const events = await store.watch({ prefix: '/', after: first }).next()
  await store.close()
  expect(past).toMatchObject({ entries: [{ key: '/a' }, { key: '/gone' }] })
  expect(events.value).toMatchObject({ events: [{ key: '/a' }, { key: '/gone' }] })
  const database = new DatabaseSync(file)
  database.exec("UPDATE log SET value = x'33' WHERE revision = 2 AND key = '/a'")
  database.close()
  const changed = await newStore({ directory })
  expect(await changed.get('/a')).toMatchObject({ damaged: true, modRevision: 2 })
})

test('a damaged version that was superseded since is passed over by a watch', async () => {
  const before = await newStore()
  const { directory } = before
  for (const value of ['1', '2', '3']) await write(before, put('/a', value))
  await before.close()
  const database = new DatabaseSync(join(directory, 'store.sqlite'))
  database.exec("UPDATE log SET value = x'33' WHERE revision = 2")
  database.close()
  const store = await newStore({ directory })
  const { value } = await store.watch({ prefix: '/', after: 0 }).next()
  expect(value).toMatchObject({ events: [{ revision: 1 }, { revision: 3 }] })
  expect(await store.list({ prefix: '/', revision: 2 })).toMatchObject({
    entries: [{ key: '/a', damaged: true }],
  })
})

test('an empty file is refused, and not taken for a new store', async () => {
  const directory = newDirectory()
  writeFileSync(join(directory, 'store.sqlite'), '')
  await expect(newStore({ directory })).rejects.toMatchObject({
    code: 'NP_STORAGE_CORRUPT',
    message: expect.stringContaining('is empty'),
  })
})
