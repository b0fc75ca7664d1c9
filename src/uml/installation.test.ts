import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findInstallation } from './installation.ts'

let root: string
let program: string
let modules: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'np-uml-test-'))
  program = join(root, 'linux')
  modules = join(root, 'modules')
  writeFileSync(program, '#!/bin/sh\necho 6.1.176\n', { mode: 0o755 })
  mkdirSync(join(modules, '6.1.170'), { recursive: true })
})

afterAll(() => rmSync(root, { recursive: true }))

test('a program that is not there is missing, with the remedy', async () => {
  await expect(findInstallation({ program: `${program}-not`, modules })).rejects.toMatchObject({
    code: 'NP_UML_MISSING',
    hint: expect.stringContaining('apt-get install user-mode-linux'),
  })
})

test('modules of another release do not count', async () => {
  await expect(findInstallation({ program, modules })).rejects.toMatchObject({
    code: 'NP_UML_MISSING',
    message: expect.stringMatching(/6\.1\.176.*6\.1\.170/),
  })
})

test('finds the modules of its release', async () => {
  mkdirSync(join(modules, '6.1.176'))
  writeFileSync(join(modules, '6.1.176/modules.dep'), '')
  expect(await findInstallation({ program, modules })).toEqual({
    program,
    release: '6.1.176',
    modules: join(modules, '6.1.176'),
  })
})
