import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { prepareBases } from '../images/prepare-bases.ts'
import { installEngine } from './install.ts'
import { makeScratch, removeLeftovers, removeScratch } from './scratch.ts'

const INSIDE = fileURLToPath(new URL('inside.ts', import.meta.url))
const APART = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/**
 * Runs the tests against an engine that exists only for them: in namespaces of
 * its own, with its data in one folder. Returns the exit status of the tests.
 */
export async function withOwnEngine(args: readonly string[], signal: AbortSignal): Promise<number> {
  for (const scratch of removeLeftovers()) say(`removed ${scratch}, which an earlier run left`)
  const installed = await installEngine()
  await prepareBases(signal)
  const scratch = makeScratch()
  try {
    const command = [process.execPath, INSIDE, scratch, ...args]
    const child = spawn('unshare', [...APART, ...command], {
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    child.stdin.on('error', () => undefined)
    const stop = (): void => void child.stdin.end()
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    const [status] = (await once(child, 'exit')) as [number | null]
    say(`the engine was ${versionOf()}${installed.length > 0 ? `, installed by this run` : ''}`)
    return status ?? 1
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
