import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { put, write } from '../testing/conformance-steps.ts'
import { newDirectory, newStore } from './testing/fixtures.ts'

const FRAME = 24 + 4096

/** A data directory as a killed server leaves it, and the path of its log. */
async function killedStore() {
  const store = await newStore()
  for (let count = 0; count < 10; count++) await write(store, put('/a', `${count}`))
  const directory = newDirectory()
  cpSync(store.directory, directory, { recursive: true })
  return { directory, log: join(directory, 'store.sqlite-wal') }
}

function flipped(bytes: Buffer, at: number): Buffer {
  return bytes.fill(bytes[at]! ^ 1, at, at + 1)
}

type Harm = (log: string, bytes: Buffer) => void

test.each<readonly [string, Harm]>([
  ['is gone', (log) => rmSync(log)],
  ['is empty', (log) => truncateSync(log, 0)],
  ['lost its last page', (log, bytes) => truncateSync(log, bytes.length - FRAME)],
  ['lost its last byte', (log, bytes) => truncateSync(log, bytes.length - 1)],
  ['has a wrong byte', (log, bytes) => writeFileSync(log, bytes.fill('x', 32 + 30, 32 + 31))],
  ['has pages of an older one', (log, bytes) => writeFileSync(log, flipped(bytes, 40))],
])('a store is refused when the log of a killed server %s', async (_, harm) => {
  const { directory, log } = await killedStore()
  harm(log, readFileSync(log))
  await expect(newStore({ directory })).rejects.toMatchObject({
    code: 'NP_STORAGE_CORRUPT',
    message: expect.stringContaining('lost acknowledged writes'),
  })
})

test.each<readonly [string, Harm]>([
  ['as it was', () => undefined],
  [
    'with a write that was not acknowledged',
    (log, bytes) => {
      writeFileSync(log, Buffer.concat([bytes, bytes.subarray(-FRAME)]))
    },
  ],
  [
    'of which there is no index, as after a power failure',
    (log) => {
      rmSync(log.replace('-wal', '-shm'))
    },
  ],
  [
    'whose index was being written',
    (log) => {
      const index = log.replace('-wal', '-shm')
      writeFileSync(index, readFileSync(index).fill(0xff, 16, 20))
    },
  ],
  [
    'whose index is of an older one',
    (log) => {
      const index = log.replace('-wal', '-shm')
      writeFileSync(
        index,
        readFileSync(index).fill(0xff, 16, 18).fill(1, 32, 40).copyWithin(48, 0, 48),
      )
    },
  ],
])('a store opens with the log of a killed server, %s', async (_, change) => {
  const { directory, log } = await killedStore()
  change(log, readFileSync(log))
  const store = await newStore({ directory })
  expect(String((await store.get('/a'))?.value)).toBe('9')
})

test.each<readonly [string, Harm]>([
  ['in the middle', (log, bytes) => writeFileSync(log, flipped(bytes, 2 * FRAME))],
  ['in its first page', (log, bytes) => writeFileSync(log, flipped(bytes, 100))],
  ['at its head', (log, bytes) => writeFileSync(log, flipped(bytes, 17))],
])('a log that is damaged %s is refused without an index, too', async (_, harm) => {
  const { directory, log } = await killedStore()
  rmSync(log.replace('-wal', '-shm'))
  harm(log, readFileSync(log))
  await expect(newStore({ directory })).rejects.toMatchObject({
    code: 'NP_STORAGE_CORRUPT',
    message: expect.stringContaining('lost acknowledged writes'),
  })
})

test('a damaged log is refused although the database has all its pages: SQLite would read a part of it', async () => {
  const store = await newStore()
  for (let count = 0; count < 10; count++) await write(store, put('/a', `${count}`))
  const database = new DatabaseSync(join(store.directory, 'store.sqlite'))
  database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  const directory = newDirectory()
  cpSync(store.directory, directory, { recursive: true })
  database.close()
  const log = join(directory, 'store.sqlite-wal')
  writeFileSync(log, flipped(readFileSync(log), 3 * FRAME))
  await expect(newStore({ directory })).rejects.toMatchObject({ code: 'NP_STORAGE_CORRUPT' })
})
