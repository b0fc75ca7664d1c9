import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const SCRIPT = new URL('./testing/end-threads.script.ts', import.meta.url).pathname

test('threads that make system calls end at any time without taking their process along', async () => {
  const args = ['--disable-warning=ExperimentalWarning', SCRIPT, '60']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toBe('ended\n')
})
