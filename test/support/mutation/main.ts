import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { MUTATIONS, type Mutation } from './mutations.ts'

/**
 * Proves that the kernel tests can fail: plants one fault after the other in a copy of the source, runs the test that
 * should notice it against that daemon, and reports the faults that no test noticed. `--only TEXT` selects faults by
 * their text, `--source FOLDER` copies another checkout than this one.
 *
 *     node test/support/mutation/main.ts
 */
const ROOT = new URL('../../..', import.meta.url).pathname
const COPIED = ['src', 'bin', 'scripts', 'package.json']

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, source: { type: 'string', default: ROOT } },
})
const chosen = MUTATIONS.filter(({ fault }) => fault.includes(values.only))
const missed = chosen.filter((mutation) => !isNoticed(mutation))
process.stdout.write(`${chosen.length - missed.length} of ${chosen.length} faults noticed\n`)
process.exitCode = missed.length === 0 ? 0 : 1

function isNoticed(mutation: Mutation): boolean {
  const copy = mkdtempSync(join(tmpdir(), 'np-mutation-'))
  try {
    for (const name of COPIED)
      cpSync(join(values.source, name), join(copy, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    plant(copy, mutation)
    const failed = runTest(mutation, copy)
    const verdict = failed === 0 ? 'MISSED ' : 'noticed'
    process.stdout.write(`${verdict} ${mutation.fault} (${mutation.test}: ${failed} failed)\n`)
    return failed > 0
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function plant(copy: string, { fault, also = [], ...first }: Mutation): void {
  for (const { file, from, to } of [first, ...also]) {
    const path = join(copy, file)
    const text = readFileSync(path, 'utf8')
    if (!text.includes(from)) throw new Error(`${fault}: ${file} no longer contains ${from}`)
    writeFileSync(
      path,
      text.replace(from, () => to),
    )
  }
}

/** How many tests failed; throws when none ran to its end. */
function runTest({ test, only }: Mutation, copy: string): number {
  const filter = only === undefined ? [] : ['-t', only]
  const out = join(copy, 'report.json')
  const reporter = ['--reporter=json', `--outputFile=${out}`]
  const args = ['run', '--project', 'kernel', ...reporter, `test/kernel/${test}.test.ts`]
  spawnSync(join(ROOT, 'node_modules/.bin/vitest'), [...args, ...filter], {
    cwd: ROOT,
    env: { ...process.env, NP_DAEMON: join(copy, 'bin/node-proxy') },
  })
  const report = JSON.parse(readFileSync(out, 'utf8')) as {
    numFailedTests: number
    numPassedTests: number
  }
  if (report.numFailedTests + report.numPassedTests === 0) throw new Error(`${test}: nothing ran`)
  return report.numFailedTests
}
