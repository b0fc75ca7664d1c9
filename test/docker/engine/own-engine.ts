import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { runApart } from '../../support/apart/apart.ts'
import { makeScratch, removeLeftovers, removeScratch } from '../../support/apart/scratch.ts'
import { prepareBases } from '../images/prepare-bases.ts'
import { installEngine } from './install.ts'

const INSIDE = fileURLToPath(new URL('inside.ts', import.meta.url))
const OWNER = { who: 'docker', program: 'test/docker/main.ts' }

/**
 * Runs the tests against an engine that exists only for them: in namespaces of
 * its own, with its data in one folder. Returns the exit status of the tests.
 */
export async function withOwnEngine(args: readonly string[], signal: AbortSignal): Promise<number> {
  for (const scratch of removeLeftovers(OWNER)) say(`removed ${scratch}, which an earlier run left`)
  const installed = await installEngine()
  await prepareBases(signal)
  const scratch = makeScratch(OWNER)
  try {
    const status = await runApart(INSIDE, [scratch, ...args], signal)
    say(`the engine was ${versionOf()}${installed.length > 0 ? `, installed by this run` : ''}`)
    return status
  } finally {
    removeScratch(scratch)
    say(`removed ${scratch}; the engine, its containers, images and networks are gone with it`)
  }
}

function versionOf(): string {
  return spawnSync('dockerd', ['--version'], { encoding: 'utf8' }).stdout.trim()
}

function say(what: string): void {
  process.stderr.write(`docker: ${what}\n`)
}
