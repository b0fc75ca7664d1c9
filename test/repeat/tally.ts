/** How one test ended in one run. Errors outside of tests have the name of what they belong to. */
export interface TestResult {
  readonly project: string
  readonly file: string
  readonly test: string
  readonly state: 'passed' | 'failed' | 'skipped'
  /** Of a test that failed. */
  readonly error?: string
}

/** A test that failed in at least one run. */
export interface RepeatedFailure {
  readonly project: string
  readonly file: string
  readonly test: string
  /** Runs in which it came to an end, from 1 on. */
  readonly ran: number
  readonly failedIn: readonly number[]
  readonly firstError: string
}

/** What the runs showed, as `--json` prints it. */
export interface Tally {
  readonly wanted: number
  /** Runs that came to their end. */
  readonly runs: number
  /** Different tests that ran. */
  readonly tests: number
  readonly seconds: number
  readonly load: string
  readonly failures: readonly RepeatedFailure[]
}

/** Runs by their number; the most frequent failures first. */
export function failuresOf(
  runs: ReadonlyMap<number, readonly TestResult[]>,
): readonly RepeatedFailure[] {
  const all = [...runs].flatMap(([run, results]) => results.map((result) => ({ run, result })))
  const ran = all.filter(({ result }) => result.state !== 'skipped')
  return [...Map.groupBy(ran, ({ result }) => keyOf(result)).values()]
    .flatMap((ofTest) => {
      const failed = ofTest.filter(({ result }) => result.state === 'failed')
      const [first] = failed
      if (first === undefined) return []
      const { project, file, test, error = '' } = first.result
      const failedIn = [...new Set(failed.map(({ run }) => run))]
      const ranIn = new Set(ofTest.map(({ run }) => run)).size
      return [{ project, file, test, ran: ranIn, failedIn, firstError: error }]
    })
    .toSorted((a, b) => b.failedIn.length - a.failedIn.length || (keyOf(a) < keyOf(b) ? -1 : 1))
}

/** Different tests that ran to their end, passed or not. */
export function countTests(runs: ReadonlyMap<number, readonly TestResult[]>): number {
  const ran = [...runs.values()].flat().filter(({ state }) => state !== 'skipped')
  return new Set(ran.map(keyOf)).size
}

function keyOf({ project, file, test }: Omit<TestResult, 'state'>): string {
  return JSON.stringify([project, file, test])
}

const MAX_ERROR_LINES = 6

/** The list for people. */
export function tableOf({ wanted, runs, tests, seconds, load, failures }: Tally): string {
  const beside = load === '' ? 'without load' : `beside ${load}`
  const head = `${runs} of ${wanted} runs, ${tests} tests, ${Math.round(seconds)} s, ${beside}: `
  if (failures.length === 0) return `${head}no test failed\n`
  const rows = failures.map(({ project, file, test, ran, failedIn, firstError }) =>
    [
      `${String(failedIn.length).padStart(6)} ${String(ran).padStart(4)}  ${project} ${file} > ${test}`,
      ...indented(`run ${failedIn.join(', ')}: ${firstError}`),
    ].join('\n'),
  )
  const count = `${failures.length} ${failures.length === 1 ? 'test' : 'tests'} failed`
  return [`${head}${count}`, 'failed   of  test', ...rows, ''].join('\n')
}

function indented(text: string): readonly string[] {
  const lines = text.split('\n')
  const shown = lines.slice(0, MAX_ERROR_LINES)
  const more = lines.length > shown.length ? ['…'] : []
  return [...shown, ...more].map((line) => `             ${line}`.trimEnd())
}
