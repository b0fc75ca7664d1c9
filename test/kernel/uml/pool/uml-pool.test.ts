import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { needsUserModeLinux } from '../installed.ts'

const VITEST = new URL('../../../../node_modules/vitest/vitest.mjs', import.meta.url).pathname
const CONFIG = new URL('./fixtures/vitest.config.ts', import.meta.url).pathname

needsUserModeLinux()

/** Runs fixture files in the pool; what vitest said, without colours. */
function vitest(...files: readonly string[]): string {
  const args = [VITEST, 'run', '--no-color', '--config', CONFIG, ...files]
  const env = { ...process.env, CI: 'true' }
  const said = spawnSync(process.execPath, args, { env, encoding: 'utf8', timeout: 280_000 })
  expect(said.status).toBe(1)
  return said.stdout + said.stderr
}

function ordersLeft(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('np-uml-orders-'))
}

test('a test in the other kernel passes, fails and is skipped like any other', () => {
  const before = ordersLeft()
  const said = vitest('elsewhere')
  expect(said).toContain('Tests  1 failed | 1 passed | 1 skipped (3)')
  expect(said).toMatch(/FAIL .*elsewhere\.fixture\.ts > fails there/)
  expect(said).toContain('+   "kernel": "here"')
  expect(said).toContain('elsewhere.fixture.ts:10:')
  expect(said).toContain('said inside')
  expect(ordersLeft().filter((name) => !before.includes(name))).toEqual([])
})

test('coverage of what runs here is not disturbed', () => {
  const reports = mkdtempSync(join(tmpdir(), 'np-coverage-'))
  onTestFinished(() => rmSync(reports, { recursive: true, force: true }))
  const said = vitest('elsewhere', '--coverage', `--coverage.reportsDirectory=${reports}`)
  expect(said).toContain('Tests  1 failed | 1 passed | 1 skipped (3)')
  expect(said).not.toContain('Unhandled')
})

test('a kernel that panics fails its file, with its last words, and no other file', () => {
  const said = vitest()
  expect(said).toContain('Kernel panic - not syncing: sysrq triggered crash')
  expect(said).toContain('NP_UML_PANIC')
  expect(said).toMatch(/the kernel was lost with .*panic\.fixture\.ts/)
  expect(said).toContain('1 failed | 1 passed | 1 skipped')
})
