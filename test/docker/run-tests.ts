import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { root } from './images/root.ts'

const VITEST = 'node_modules/vitest/vitest.mjs'
const GRACE_MS = 20_000

export interface TestRun {
  /** Where the engine is. */
  readonly env: NodeJS.ProcessEnv
  /** Ends the tests early. */
  readonly signal: AbortSignal
}

/** Runs the Docker tests of vitest, which fail without an engine; returns the exit status. */
export async function runTests(args: readonly string[], { env, signal }: TestRun): Promise<number> {
  const child = spawn(process.execPath, [VITEST, 'run', '--project=docker', ...args], {
    cwd: root,
    env: { ...process.env, ...env, NP_DOCKER_REQUIRED: '1' },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(child, 'exit') as Promise<[number | null]>
  const end = (): void => {
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref()
  }
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  const [status] = await ended
  signal.removeEventListener('abort', end)
  return status ?? 1
}
