import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const SCRIPT = new URL('repeated-syns.script.ts', import.meta.url).pathname

test('a SYN that a TIME_WAIT answered is counted apart from one that was lost', async () => {
  const command = ['--net', process.execPath, '--disable-warning=ExperimentalWarning', SCRIPT]
  const { stdout } = await promisify(execFile)('unshare', command, { timeout: 60_000 })
  const { met, dropped } = JSON.parse(stdout)
  expect(met.lost).toBe(0)
  expect(met.metTimeWait).toBeGreaterThan(0)
  expect(dropped).toEqual({ lost: 1, metTimeWait: 0 })
})
