import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readRights } from './rights.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'np-rights-'))
})
afterEach(() => rm(folder, { recursive: true }))

test.each([
  ['CapPrm:\t000001ffffffffff\nCapEff:\t0000000000001000\n', true],
  ['CapEff:\t000001ffffffffff\nCapBnd:\t0000000000000000\n', true],
  ['CapPrm:\t0000000000001000\nCapEff:\t0000000000000000\n', false],
  ['CapEff:\t000001ffffffefff\n', false],
  ['Name:\tnode\n', false],
])('%j', async (status, netAdmin) => {
  const file = join(folder, 'status')
  await writeFile(file, status)
  expect(readRights(file)).toEqual({ netAdmin })
})

test('without a readable status file there are no rights', () => {
  expect(readRights(join(folder, 'none'))).toEqual({ netAdmin: false })
})
