import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { put, write } from '../conformance-steps.ts'
import { openForReading, openForWriting } from './database.ts'
import { newDirectory, newStore } from './fixtures.ts'

test('a store of a newer program is refused, not guessed at', async () => {
  const store = await newStore()
  const file = join(store.directory, 'store.sqlite')
  await store.close()
  const database = new DatabaseSync(file)
  database.exec('PRAGMA user_version = 2')
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

test('a damaged file is called corrupt, and the directory is free again', async () => {
  const store = await newStore()
  await write(store, put('/a', '1'))
  const { directory } = store
  await store.close()
  writeFileSync(join(directory, 'store.sqlite'), Buffer.alloc(8192, 'damage'))
  const corrupt = { code: 'NP_STORAGE_CORRUPT' }
  await expect(newStore({ directory })).rejects.toMatchObject(corrupt)
  await expect(newStore({ directory })).rejects.toMatchObject(corrupt)
})

test('a directory that cannot be used is named', async () => {
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
