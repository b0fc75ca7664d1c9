import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  UPSTREAM_CACHE,
  UPSTREAM_PROGRAMS,
  type UpstreamProgram,
} from '../support/lab/upstream-program.ts'
import { installMissing } from '../support/on-demand/install-missing.ts'
import { step } from '../support/on-demand/step.ts'
import { buildPrograms } from './build.ts'
import { fetchSource } from './source.ts'

const WANTED = { 'golang-go': '/usr/bin/go', 'etcd-server': '/usr/bin/etcd' } as const

/** The folder with the programs: `NP_UPSTREAM_PROGRAMS`, or else one to which those that it lacks are added. */
export async function upstreamPrograms(
  signal: AbortSignal,
  wanted: readonly UpstreamProgram[] = UPSTREAM_PROGRAMS,
): Promise<string> {
  const given = process.env['NP_UPSTREAM_PROGRAMS']
  if (given !== undefined) return given
  await installMissing('upstream', WANTED)
  const missing = wanted.filter((name) => !existsSync(join(UPSTREAM_CACHE, name)))
  if (missing.length > 0) await build(missing, signal)
  return UPSTREAM_CACHE
}

/** Each program appears in the folder once it is complete. */
async function build(names: readonly UpstreamProgram[], signal: AbortSignal): Promise<void> {
  mkdirSync(dirname(UPSTREAM_CACHE), { recursive: true })
  const scratch = mkdtempSync(`${UPSTREAM_CACHE}-`)
  try {
    const source = await step('upstream', 'fetching Debian’s source of kubernetes', () =>
      fetchSource(scratch, signal),
    )
    const made = join(scratch, 'programs')
    mkdirSync(UPSTREAM_CACHE, { recursive: true })
    for (const name of names) {
      await step('upstream', `building ${name} (a few minutes)`, () =>
        buildPrograms([name], { scratch, source, into: made, signal }),
      )
      renameSync(join(made, name), join(UPSTREAM_CACHE, name))
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
