import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runOnDemand } from '../support/on-demand/run-command.ts'
import { startLoad } from './load.ts'
import { type Options, parseOptions, USAGE } from './options.ts'
import { runTests } from './run-tests.ts'
import { countTests, failuresOf, type TestResult, tableOf } from './tally.ts'

/** `npm run test:repeat -- N [PATTERN…]`: tests again and again beside a load; see `--help`. */
const options = readOptions(process.argv.slice(2))
if (options === 'help') process.stdout.write(USAGE)
else if (options !== undefined) {
  process.exitCode = await runOnDemand({
    who: 'repeat',
    timeoutMs: options.minutes * 60_000,
    run: (_, signal) => repeat(options, signal),
  })
}

function readOptions(args: readonly string[]): Options | 'help' | undefined {
  try {
    return parseOptions(args)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    process.stderr.write(`repeat: ${message}\nrepeat: --help shows the options\n`)
    process.exitCode = 2
    return undefined
  }
}

async function repeat(options: Options, signal: AbortSignal): Promise<number> {
  const began = performance.now()
  await using folder = await mkdtempDisposable(join(tmpdir(), 'np-repeat-'))
  const results = new Map<number, readonly TestResult[]>()
  let tests: number | undefined
  using loads = new DisposableStack()
  const beside = { folder: folder.path, tests: () => tests }
  for (const load of options.loads) loads.use(startLoad(load, beside))
  let runs = 0
  for (let run = 1; run <= options.runs && !signal.aborted; run++) {
    await using own = await mkdtempDisposable(join(folder.path, 'run-'))
    const onProcess = (pid: number | undefined): void => void (tests = pid)
    const found = await runTests(options, { folder: own.path, signal, onProcess })
    results.set(run, found)
    if (!signal.aborted) runs = run
    sayRun(options, run, found)
    if (options.untilFailure && found.some(({ state }) => state === 'failed')) break
  }
  const failures = failuresOf(results)
  const load = options.loads.map(({ name, count }) => `${name}:${count}`).join(',')
  const seconds = Math.round((performance.now() - began) / 1_000)
  const counted = { wanted: options.runs, runs, tests: countTests(results), seconds }
  const tally = { ...counted, load, failures }
  process.stdout.write(options.json ? `${JSON.stringify(tally, null, 2)}\n` : tableOf(tally))
  return failures.length === 0 ? 0 : 1
}

function sayRun(options: Options, run: number, results: readonly TestResult[]): void {
  const count = (state: TestResult['state']): number =>
    results.filter((result) => result.state === state).length
  const counts = `${count('failed')} failed, ${count('passed')} passed, ${count('skipped')} skipped`
  process.stderr.write(`repeat: run ${run} of ${options.runs}: ${counts}\n`)
}
