import { existsSync, readFileSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { runVitest } from '../support/on-demand/run-project.ts'
import type { Options } from './options.ts'
import { RESULTS_FILE } from './results-reporter.ts'
import type { TestResult } from './tally.ts'

/** Of what vitest said: enough for an error. */
const MAX_OUTPUT = 2_000

export interface TestRun {
  /** For the results and what vitest says; empty. */
  readonly folder: string
  readonly signal: AbortSignal
  /** The process that runs the tests; undefined when it has ended. */
  onProcess(pid: number | undefined): void
}

/** The arguments of vitest for one run. */
export function vitestArguments({ projects, name, patterns }: Options): readonly string[] {
  return [
    ...projects.map((project) => `--project=${project}`),
    ...(name === undefined ? [] : ['--testNamePattern', name]),
    ...patterns,
  ]
}

/** Runs the tests once; returns the results that there were, also where it was ended early. */
export async function runTests(
  options: Options,
  { folder, signal, onProcess }: TestRun,
): Promise<readonly TestResult[]> {
  const [file, log] = [join(folder, 'results'), join(folder, 'output')]
  await using output = await open(log, 'w')
  const env = { [RESULTS_FILE]: file, NP_TESTS: options.selection }
  const run = { env, signal, onProcess, output: output.fd }
  let early: readonly TestResult[] | undefined
  const onAbort = (): void => void (early = readResults(file))
  signal.addEventListener('abort', onAbort)
  const status = await runVitest(vitestArguments(options), run)
  signal.removeEventListener('abort', onAbort)
  // What fails later fails because it was ended.
  const results = early ?? readResults(file)
  const isExplained = signal.aborted || results.some(({ state }) => state === 'failed')
  if (status === 0 || isExplained) return results
  return [...results, unexplained(status, await readFile(log, 'utf8'))]
}

/** The lines that are complete. */
function readResults(file: string): readonly TestResult[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as TestResult)
}

/** Vitest failed, and no test did. */
function unexplained(status: number, output: string): TestResult {
  const error = `vitest ended with ${status}: ${stripVTControlCharacters(output).trim().slice(0, MAX_OUTPUT)}`
  return { project: '', file: '', test: '(the run itself)', state: 'failed', error }
}
