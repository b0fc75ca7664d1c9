import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasWideRegisters, withWholeRegisters } from './start-kernel.ts'

const WIDE = 'model name\t: Xeon\nflags\t\t: fpu avx512f amx_bf16 amx_tile amx_int8\n'
const NARROW = 'model name\t: amx_tile\nflags\t\t: fpu avx512f\n'

let scratch: string
let cpuinfo: string

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'np-registers-test-'))
  cpuinfo = join(scratch, 'cpuinfo')
})

afterAll(() => rmSync(scratch, { recursive: true }))

test('a processor with AMX has wide registers', () => {
  expect([WIDE, NARROW, ''].map(hasWideRegisters)).toEqual([true, false, false])
})

test('other processors need no compiler', async () => {
  writeFileSync(cpuinfo, NARROW)
  expect(await withWholeRegisters(scratch, { cpuinfo, compiler: 'np-none' })).toEqual({})
})

test('with AMX the compiler builds the library; without one, that is said', async () => {
  writeFileSync(cpuinfo, WIDE)
  const compiler = join(scratch, 'compiler')
  writeFileSync(compiler, '#!/bin/sh\necho "$*" > "$4"\n', { mode: 0o755 })
  expect(await withWholeRegisters(scratch, { cpuinfo, compiler })).toEqual({
    LD_PRELOAD: join(scratch, 'whole-registers.so'),
  })
  await expect(withWholeRegisters(scratch, { cpuinfo, compiler: 'np-none' })).rejects.toMatchObject(
    { code: 'NP_UML_MISSING', hint: 'apt-get install tcc' },
  )
})
