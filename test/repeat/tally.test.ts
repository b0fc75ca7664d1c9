import { expect, test } from 'vitest'
import { countTests, failuresOf, type TestResult, tableOf } from './tally.ts'

const result = (test: string, state: TestResult['state'], error?: string): TestResult => ({
  project: 'unit',
  file: 'a.test.ts',
  test,
  state,
  ...(error !== undefined && { error }),
})
const RUNS = new Map([
  [1, [result('good', 'passed'), result('b', 'passed'), result('c', 'failed', 'Error: 1')]],
  [2, [result('good', 'passed'), result('b', 'failed', 'Error: 2'), result('s', 'skipped')]],
  [3, [result('good', 'passed'), result('c', 'failed', 'Error: 3'), result('s', 'skipped')]],
])
const AT = { project: 'unit', file: 'a.test.ts' }
const FAILURES = [
  { ...AT, test: 'c', ran: 2, failedIn: [1, 3], firstError: 'Error: 1' },
  { ...AT, test: 'b', ran: 2, failedIn: [2], firstError: 'Error: 2' },
]

test('failures: of the runs in which the test ran, with the first error, the most frequent first', () => {
  expect(failuresOf(RUNS)).toEqual(FAILURES)
  expect(failuresOf(new Map())).toEqual([])
})

test('a name that stands for two tests fails once in a run', () => {
  const twice = [result('x', 'failed', 'Error: 1'), result('x', 'failed', 'Error: 2')]
  expect(failuresOf(new Map([[1, twice]]))).toMatchObject([
    { ran: 1, failedIn: [1], firstError: 'Error: 1' },
  ])
})

test('tests of one name in other files and projects are others', () => {
  const runs = new Map([
    [1, [result('x', 'failed'), { ...result('x', 'passed'), project: 'kernel' }]],
    [2, [{ ...result('x', 'failed'), file: 'b.test.ts' }]],
  ])
  expect(failuresOf(runs).map(({ file, ran }) => [file, ran])).toEqual([
    ['a.test.ts', 1],
    ['b.test.ts', 1],
  ])
  expect(countTests(runs)).toBe(3)
})

test('tests that were skipped did not run', () => {
  expect(countTests(RUNS)).toBe(3)
})

const TALLY = { wanted: 3, runs: 3, tests: 3, seconds: 12, load: 'busy:2', failures: FAILURES }

test('the table', () => {
  expect(tableOf(TALLY)).toBe(`\
3 of 3 runs, 3 tests, 12 s, beside busy:2: 2 tests failed
failed   of  test
     2    2  unit a.test.ts > c
             run 1, 3: Error: 1
     1    2  unit a.test.ts > b
             run 2: Error: 2
`)
})

test('the table of no failure, without load', () => {
  expect(tableOf({ ...TALLY, load: '', failures: [] })).toBe(
    '3 of 3 runs, 3 tests, 12 s, without load: no test failed\n',
  )
})

test('of a long error the table has the first lines', () => {
  const [failure] = FAILURES
  const firstError = Array.from({ length: 9 }, (_, line) => `line ${line}`).join('\n')
  const lines = tableOf({ ...TALLY, failures: [{ ...failure!, firstError }] }).split('\n')
  expect(lines.slice(3)).toEqual([
    '             run 1, 3: line 0',
    ...[1, 2, 3, 4, 5].map((line) => `             line ${line}`),
    '             …',
    '',
  ])
})
