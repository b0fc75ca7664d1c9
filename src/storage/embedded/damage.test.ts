import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { put, write } from '../testing/conformance-steps.ts'
import { newStore } from './testing/fixtures.ts'

const PAGE = 4096

test('a read that finds damage ends the store with NP_STORAGE_CORRUPT', async () => {
  const store = await newStore()
  for (let index = 0; index < 20; index++)
    await write(store, put(`/${index}`, 'x'.repeat(2 * PAGE)))
  const { directory } = store
  await store.close()
  const file = join(directory, 'store.sqlite')
  const damaged = await newStore({ directory })
  const bytes = readFileSync(file)
  // The first pages are the schema and the roots of its trees.
  bytes.fill(0xff, 8 * PAGE)
  writeFileSync(file, bytes)
  const corrupt = { code: 'NP_STORAGE_CORRUPT', object: file }
  await expect(damaged.list({ prefix: '/' })).rejects.toMatchObject(corrupt)
  expect(await damaged.broken).toMatchObject(corrupt)
  await expect(damaged.revision()).rejects.toMatchObject(corrupt)
  await expect(write(damaged, put('/0', 'y'))).rejects.toMatchObject(corrupt)
})
