import { readFileSync } from 'node:fs'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { root } from '../support/on-demand/root.ts'
import { startLoad } from './load.ts'
import type { Tally, TestResult } from './tally.ts'

/** Options of the child processes: not those of the vitest that runs this file. */
const CHILD = {
  cwd: root,
  reject: false,
  timeout: 100_000,
  env: { VITEST: undefined, CI: undefined },
} as const
const MAIN = join(root, 'test/repeat/main.ts')
const ONE_FILE = 'test/repeat/tally.test.ts'

const repeat = (...args: readonly string[]) => execa(process.execPath, [MAIN, ...args], CHILD)

test('runs a file so many times and lists what failed: nothing', async () => {
  const { stdout, exitCode } = await repeat('2', ONE_FILE, '--load=busy:1,disk,stops', '--json')
  const tally = JSON.parse(stdout) as Tally
  expect(tally).toMatchObject({ wanted: 2, runs: 2, load: 'busy:1,disk:1,stops:2', failures: [] })
  expect(tally.tests).toBeGreaterThan(5)
  expect(exitCode).toBe(0)
})

test('Ctrl-C ends it with the list so far', async () => {
  const running = repeat('10000', ONE_FILE, '--load=busy:1')
  running.stderr.on('data', (text: Buffer) => {
    if (text.includes('run 2 of')) running.kill('SIGINT')
  })
  const { stdout, stderr, exitCode } = await running
  expect(stdout).toMatch(/^\d+ of 10000 runs, \d+ tests, \d+ s, beside busy:1: no test failed$/)
  expect(stderr).toMatch(/repeat: interrupted$/)
  expect(exitCode).toBe(130)
})

test('a run that fails of itself is a failure, and ends it where that is wanted', async () => {
  const args = ['3', 'no/such/file', '--load=none', '--until-failure']
  const { stdout, exitCode } = await repeat(...args)
  expect(stdout).toMatch(/^1 of 3 runs, .* without load: 1 test failed\n/)
  expect(stdout).toMatch(/\(the run itself\)\n +run 1: vitest ended with 1:.*No test files found/s)
  expect(exitCode).toBe(1)
})

test('wrong options are named, and exit with 2', async () => {
  expect(await repeat('--json')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^repeat: N: "" is not a number/),
  })
})

const FAILING = `
test('passes', () => {})
test.skip('is skipped', () => {})
test('fails', () => expect(1).toBe(2))
describe('group', () => {
  beforeAll(() => { throw new Error('before') })
  test('never runs', () => {})
})
`

test('the reporter writes what failed, in tests and around them', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'np-reporter-'))
  const at = (name: string): string => join(folder.path, name)
  await writeFile(at('a.test.js'), FAILING)
  await writeFile(at('b.test.js'), `throw new Error('loading')`)
  await writeFile(
    at('c.test.js'),
    `test('x', () => void setTimeout(() => { throw new Error('late') }))
test('y', () => new Promise((resolve) => setTimeout(resolve, 50)))`,
  )
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const reporter = join(root, 'test/repeat/results-reporter.ts')
  await writeFile(
    at('vitest.config.ts'),
    `import { ResultsReporter } from ${JSON.stringify(reporter)}
    export default { test: {
      globals: true,
      reporters: [new ResultsReporter(${JSON.stringify(at('results'))})],
    } }`,
  )
  await execa(process.execPath, [vitest, 'run', `--root=${folder.path}`], CHILD)
  const lines = (await readFile(at('results'), 'utf8')).trim().split('\n')
  const results = lines.map((line) => JSON.parse(line) as TestResult)
  const texts = results.map(({ file, test, state, error = '' }) =>
    [file, test, state, error.split('\n')[0]].join('|'),
  )
  expect(texts.toSorted()).toEqual([
    'a.test.js|(around group)|failed|Error: before',
    'a.test.js|fails|failed|AssertionError: expected 1 to be 2 // Object.is equality',
    'a.test.js|group > never runs|skipped|',
    'a.test.js|is skipped|skipped|',
    'a.test.js|passes|passed|',
    'b.test.js|(the file itself)|failed|Error: loading',
    'c.test.js|x|passed|',
    'c.test.js|y|passed|',
    '|(outside of any test)|failed|Error: late',
  ])
})

/** The letter of the state of a process; empty where there is none. */
function stateOf(pid: number): string {
  try {
    return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}

test('stops: the children of the process that runs tests stand still for a while, and go on', async () => {
  const parent = execa('sh', ['-c', 'sleep 100 & echo $!; wait'], { reject: false })
  const child = await new Promise<number>((resolve) =>
    parent.stdout.once('data', (text: Buffer) => resolve(Number(text))),
  )
  {
    using _ = startLoad({ name: 'stops', count: 9 }, { folder: '', tests: () => parent.pid })
    await expect.poll(() => stateOf(child), { interval: 10 }).toBe('T')
    await expect.poll(() => stateOf(child), { interval: 10 }).toBe('S')
    await expect.poll(() => stateOf(child), { interval: 10 }).toBe('T')
  }
  await expect.poll(() => stateOf(child), { interval: 10 }).toBe('S')
  process.kill(child, 'SIGKILL')
  await parent
})
