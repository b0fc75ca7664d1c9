import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockDirectory } from './directory-lock.ts'
import { newDirectory } from './testing/fixtures.ts'

const MODULE = new URL('./directory-lock.ts', import.meta.url).href
const UNPRIVILEGED_UID = 65_534

/** Prints `taken` or the code of the refusal; root becomes a user whom permissions bind. */
const PROGRAM = `
  const [url, directory] = process.argv.slice(1)
  const { lockDirectory } = await import(url)
  if (process.getuid() === 0) process.setuid(Number(process.env.LOCK_AS ?? 0))
  try {
    lockDirectory(directory)
    console.log('taken')
  } catch (error) {
    console.log(error.code)
  }`

/** What another process gets. */
function takeElsewhere(directory: string, uid = 0): string {
  const child = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', PROGRAM, MODULE, directory],
    { encoding: 'utf8', env: { ...process.env, LOCK_AS: String(uid) } },
  )
  return child.stdout.trim() || child.stderr
}

function refusal(code: string): unknown {
  return expect.objectContaining({ code })
}

test('a second lock in this process is refused, and the first one holds on', () => {
  const directory = newDirectory()
  const alias = join(newDirectory(), 'alias')
  symlinkSync(directory, alias)
  const lock = lockDirectory(directory)
  for (const name of [directory, alias]) {
    expect(() => lockDirectory(name)).toThrow(refusal('NP_STORAGE_LOCKED'))
  }
  expect(takeElsewhere(directory)).toBe('NP_STORAGE_LOCKED')
  lock.release()
  expect(takeElsewhere(directory)).toBe('taken')
})

test('a lock file that may not be written is refused', () => {
  const directory = newDirectory()
  chmodSync(directory, 0o755)
  writeFileSync(join(directory, 'lock'), '', { mode: 0o444 })
  expect(takeElsewhere(directory, UNPRIVILEGED_UID)).toBe('NP_STORAGE_OPEN')
})

test('a directory named `lock` is refused', () => {
  const directory = newDirectory()
  mkdirSync(join(directory, 'lock'))
  expect(() => lockDirectory(directory)).toThrow(refusal('NP_STORAGE_OPEN'))
})
