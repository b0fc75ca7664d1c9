import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { commandDocuments, OneAtATime, runLauncher } from './command-documents.ts'

/** A program that prints what `script` does. */
function program(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'np-launcher-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'program')
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o700)
  return path
}

const read = (script: string, ...words: string[]) =>
  commandDocuments(runLauncher(program(script)))(words)

test('the JSON of a command, also where it ends with exit code 1', async () => {
  expect(await read('printf \'{"a":"%s"}\\n\' "$1"', 'x y')).toEqual({ json: '{"a":"x y"}' })
  expect(await read('echo "{}"; exit 1')).toEqual({ json: '{}' })
})

test.each([
  [
    'echo "node-proxy: no such thing; look (NP_X_Y)" >&2; exit 1',
    422,
    'NP_X_Y',
    /^no such thing; look$/,
  ],
  ['echo "node-proxy: wrong (NP_X_USAGE)" >&2; exit 2', 400, 'NP_X_USAGE', /^wrong$/],
  ['echo "node-proxy: away (NP_X_UNREACHABLE)" >&2; exit 3', 503, 'NP_X_UNREACHABLE', /^away$/],
  ['echo "{}"; kill -9 $$', 500, 'NP_INSPECTION_COMMAND', /Command failed/],
  ['echo words; exit 0', 500, 'NP_INSPECTION_COMMAND', /^the command failed/],
])('%s: status %i', async (script, status, code, message) => {
  const found = await read(script)
  expect(found).toMatchObject({ status, error: { code, message: expect.stringMatching(message) } })
})

test('a program that is absent fails with its reason', async () => {
  const found = await commandDocuments(runLauncher('/nonexistent'))([])
  expect(found).toMatchObject({ error: { message: expect.stringContaining('ENOENT') } })
})

test('a command yields to the daemon, in memory and in time', async () => {
  const found = await read(
    `printf '{"oom":%s,"nice":%s}' "$(sh -c 'until [ "$(cat /proc/$PPID/oom_score_adj)" = 500 ]; do :; done; cat /proc/$PPID/oom_score_adj')" "$(cut -d' ' -f19 /proc/$$/stat)"`,
  )
  expect(found).toEqual({ json: '{"oom":500,"nice":10}' })
})

test('equal work is done once, other work one after another, and too much is refused', async () => {
  const works = new OneAtATime<string>(2)
  const started: string[] = []
  const ends: (() => void)[] = []
  const run = (name: string) =>
    works.run(name, async () => {
      started.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
      return name
    })
  const all = [run('a'), run('a'), run('b')]
  expect(run('c')).toBeUndefined()
  await expect.poll(() => ends.length).toBe(1)
  expect(started).toEqual(['a'])
  ends[0]?.()
  await expect.poll(() => ends.length).toBe(2)
  ends[1]?.()
  expect(await Promise.all(all.map(async (one) => one))).toEqual(['a', 'a', 'b'])
  const again = run('a')
  await expect.poll(() => ends.length).toBe(3)
  ends[2]?.()
  expect(await again).toBe('a')
  expect(started).toEqual(['a', 'b', 'a'])
})
