import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openFilesLimit } from './process.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'np-limits-'))
})
afterEach(() => rm(folder, { recursive: true }))

const HEAD = 'Limit                     Soft Limit           Hard Limit           Units\n'

test.each([
  [`${HEAD}Max open files            20000                1048576              files\n`, 20_000],
  [`${HEAD}Max open files            unlimited            unlimited            files\n`, Infinity],
  [HEAD, 1_024],
])('%j', async (text, limit) => {
  const file = join(folder, 'limits')
  await writeFile(file, text)
  expect(openFilesLimit(1_024, file)).toBe(limit)
})

test('a system that does not say gives the usual', () => {
  expect(openFilesLimit(1_024, join(folder, 'none'))).toBe(1_024)
})
