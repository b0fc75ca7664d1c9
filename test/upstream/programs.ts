import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UPSTREAM_PROGRAMS } from '../support/lab/upstream-program.ts'
import { aptInstall } from '../support/on-demand/apt.ts'
import { root } from '../support/on-demand/root.ts'
import { step } from '../support/on-demand/step.ts'
import { buildPrograms } from './build.ts'
import { fetchSource } from './source.ts'

const CACHE = join(root, 'node_modules/.cache/upstream')

/** Debian package: a file that it brings. */
const WANTED = { 'golang-go': '/usr/bin/go', 'etcd-server': '/usr/bin/etcd' } as const

/** The folder with the programs: `NP_UPSTREAM_PROGRAMS`, or else one that is filled once. */
export async function upstreamPrograms(signal: AbortSignal): Promise<string> {
  const given = process.env['NP_UPSTREAM_PROGRAMS']
  if (given !== undefined) return given
  await install()
  if (!UPSTREAM_PROGRAMS.every((name) => existsSync(join(CACHE, name)))) await build(signal)
  return CACHE
}

async function install(): Promise<void> {
  const missing = Object.entries(WANTED)
    .filter(([, file]) => !existsSync(file))
    .map(([name]) => name)
  if (missing.length === 0) return
  if (process.getuid?.() !== 0) {
    throw new Error(`only root can install: apt-get install ${missing.join(' ')}`)
  }
  await step('upstream', `installing Debian's ${missing.join(', ')}`, () => aptInstall(missing))
}

/** All or nothing: the folder appears once everything is in it. */
async function build(signal: AbortSignal): Promise<void> {
  mkdirSync(dirname(CACHE), { recursive: true })
  const scratch = mkdtempSync(`${CACHE}-`)
  try {
    const source = await step('upstream', 'fetching Debian’s source of kubernetes', () =>
      fetchSource(scratch, signal),
    )
    const made = join(scratch, 'programs')
    for (const name of UPSTREAM_PROGRAMS) {
      await step('upstream', `building ${name} (a few minutes)`, () =>
        buildPrograms([name], { scratch, source, into: made, signal }),
      )
    }
    rmSync(CACHE, { recursive: true, force: true })
    renameSync(made, CACHE)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
