import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { Clock } from '../../../lib/clock.ts'
import type { Store } from '../../store.ts'
import { put, remove, write } from '../../testing/conformance-steps.ts'
import { storeFiles } from '../store-file.ts'
import { newDirectory, newStore, toFirstSchema } from '../testing/fixtures.ts'
import { writeBackup } from './backup.ts'
import { restoreEmbeddedStore } from './restore.ts'

const HOUR = 3_600_000

async function keys(store: Store): Promise<readonly string[]> {
  const page = await store.list({ prefix: '/' })
  if (page.refused !== undefined) throw new Error(page.refused)
  return page.entries.map(({ key, value }) => `${key}=${String(value)}`)
}

function stoppedAt(time: number): Clock {
  return { now: () => time, after: () => () => undefined }
}

async function newBackup() {
  const store = await newStore()
  const from = join(newDirectory(), 'backup')
  await write(store, put('/a', '1'), put('/gone', '1'))
  await write(store, put('/a', '2'), remove('/gone'))
  await writeBackup(storeFiles(store.directory).store, from)
  return { store, from, directory: store.directory }
}

test('a backup of a store that is being written has its state at one moment', async () => {
  const store = await newStore()
  const from = join(newDirectory(), 'backup')
  const writing = Array.from({ length: 300 }, (_, index) =>
    write(store, put('/left', String(index)), put('/right', String(index))),
  )
  await writing[50]
  await writeBackup(storeFiles(store.directory).store, from)
  await Promise.all(writing)
  const directory = newDirectory()
  await restoreEmbeddedStore({ from, directory })
  const [left, right] = await keys(await newStore({ directory }))
  expect(left?.split('=')[1]).toBe(right?.split('=')[1])
  expect(statSync(from).mode & 0o077).toBe(0)
})

test('a backup that cannot be renamed leaves no file', async () => {
  const store = await newStore()
  const file = join(newDirectory(), 'taken')
  mkdirSync(file)
  await expect(writeBackup(storeFiles(store.directory).store, file)).rejects.toMatchObject({
    code: 'NP_STORAGE_OPEN',
    object: file,
  })
  expect(existsSync(`${file}.partial`)).toBe(false)
})

test('the revisions of a restored store begin above the old ones, which are compacted', async () => {
  const { store, from, directory } = await newBackup()
  const later = await write(store, put('/lost', '1'))
  await store.close()
  const { revision } = await restoreEmbeddedStore({ from, directory })
  const restored = await newStore({ directory })
  expect(await keys(restored)).toEqual(['/a=2'])
  expect(await restored.revision()).toBe(revision)
  for (const after of [2, later, later + 1000]) {
    const { value } = await restored.watch({ prefix: '/', after }).next()
    expect(value).toMatchObject({ refused: 'compacted', oldest: revision })
  }
  expect(await write(restored, put('/new', '1'))).toBe(revision + 1)
})

test('one backup restored twice gives two histories that share no revision', async () => {
  const { from } = await newBackup()
  const now = Date.now()
  const at = async (time: number) => {
    const options = { from, directory: newDirectory(), clock: stoppedAt(time) }
    return (await restoreEmbeddedStore(options)).revision
  }
  expect(await at(now + 60_000)).toBeGreaterThan((await at(now)) + 60 * 99_999)
})

test('a store that was created under a clock a year ahead counts from its first start under the right clock', async () => {
  const now = Date.now()
  const ahead = await newStore({ clock: stoppedAt(now + 365 * 24 * HOUR) })
  await ahead.close()
  const store = await newStore({ directory: ahead.directory, clock: stoppedAt(now) })
  const from = join(newDirectory(), 'backup')
  await writeBackup(storeFiles(store.directory).store, from)
  const options = { from, directory: newDirectory(), clock: stoppedAt(now + 24 * HOUR) }
  expect((await restoreEmbeddedStore(options)).revision).toBeGreaterThan(24 * 3600 * 99_999)
})

test('a store in use is not replaced, nor is a store replaced by a backup with one wrong byte', async () => {
  const { store, from, directory } = await newBackup()
  await expect(restoreEmbeddedStore({ from, directory })).rejects.toMatchObject({
    code: 'NP_STORAGE_LOCKED',
  })
  await store.close()
  const damaged = readFileSync(from)
  damaged.write('/z2', damaged.indexOf('/a2'))
  writeFileSync(from, damaged)
  await expect(restoreEmbeddedStore({ from, directory })).rejects.toMatchObject({
    code: 'NP_STORAGE_CORRUPT',
    object: from,
    hint: expect.stringContaining('another backup'),
  })
  expect(readdirSync(directory).filter((name) => name.startsWith('restored'))).toEqual([])
  expect(await keys(await newStore({ directory }))).toEqual(['/a=2'])
})

test('a file that is no database, or is truncated, is refused as a backup', async () => {
  const { from } = await newBackup()
  const whole = readFileSync(from)
  for (const content of ['a text that is long enough to be looked at', whole.subarray(0, 5000)]) {
    writeFileSync(from, content)
    await expect(restoreEmbeddedStore({ from, directory: newDirectory() })).rejects.toMatchObject({
      code: 'NP_STORAGE_CORRUPT',
      object: from,
      message: expect.stringContaining('is damaged'),
      hint: expect.stringContaining('another backup'),
    })
  }
})

test('opening the store finishes an interrupted restore', async () => {
  const { store, from, directory } = await newBackup()
  await write(store, put('/lost', '1'))
  const log = readFileSync(join(directory, 'store.sqlite-wal'))
  await store.close()
  const elsewhere = newDirectory()
  const { revision } = await restoreEmbeddedStore({ from, directory: elsewhere })
  copyFileSync(storeFiles(elsewhere).store, storeFiles(directory).restored)
  writeFileSync(join(directory, 'store.sqlite-wal'), log)
  const restored = await newStore({ directory })
  expect([await restored.revision(), await keys(restored)]).toEqual([revision, ['/a=2']])
})

test.each([
  ["DELETE FROM log WHERE key = '/a' AND revision = 2", /another checksum/],
  ['DROP TABLE seal; CREATE TABLE seam (one)', /tables are not those/],
  ['UPDATE meta SET oldest = 1', /row of revision counters/],
  ["UPDATE log SET value = x'33' WHERE key = '/a'", /"\/a": its value of revision 1 is not/],
])('a backup that was changed by %s is refused', async (sql, message) => {
  const { from } = await newBackup()
  const database = new DatabaseSync(from)
  database.exec(sql)
  database.close()
  await expect(restoreEmbeddedStore({ from, directory: newDirectory() })).rejects.toMatchObject({
    code: 'NP_STORAGE_CORRUPT',
    object: from,
    message: expect.stringMatching(message),
    hint: 'restore another backup; nothing was replaced',
  })
})

test('a backup of schema 1 is restored, with isVerified false', async () => {
  const { from } = await newBackup()
  const directory = newDirectory()
  expect(await restoreEmbeddedStore({ from, directory })).toMatchObject({ isVerified: true })
  toFirstSchema(from)
  expect(await restoreEmbeddedStore({ from, directory })).toMatchObject({ isVerified: false })
  expect(await keys(await newStore({ directory }))).toEqual(['/a=2'])
})

test('a value that `examine` rejects is named, and neither backed up nor restored', async () => {
  const { store, from } = await newBackup()
  const examine = () => 'it is no object'
  const file = join(newDirectory(), 'never')
  const damaged = { code: 'NP_STORAGE_CORRUPT', message: expect.stringContaining('"/a": it is no') }
  await expect(writeBackup(storeFiles(store.directory).store, file, examine)).rejects.toMatchObject(
    damaged,
  )
  expect(existsSync(file)).toBe(false)
  const directory = newDirectory()
  await expect(restoreEmbeddedStore({ from, directory, examine })).rejects.toMatchObject(damaged)
  expect(existsSync(storeFiles(directory).store)).toBe(false)
})
