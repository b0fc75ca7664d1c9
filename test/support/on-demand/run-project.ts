import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { root } from './root.ts'

const VITEST = 'node_modules/vitest/vitest.mjs'
const GRACE_MS = 20_000
export interface ProjectRun {
  /** Environment variables for the tests, beside those of this process. */
  readonly env: NodeJS.ProcessEnv
  /** Ends the tests early. */
  readonly signal: AbortSignal
}

export interface VitestRun extends ProjectRun {
  /** A file descriptor for the output of vitest; that of this process unless set. */
  readonly output?: number
  /** Called with the process id of vitest, and with undefined when it has ended. */
  onProcess?(pid: number | undefined): void
}

/** Runs one project of vitest; returns the exit status. */
export async function runProject(
  project: string,
  args: readonly string[],
  run: ProjectRun,
): Promise<number> {
  return await runVitest([`--project=${project}`, ...args], run)
}

/** Runs vitest; returns the exit status. */
export async function runVitest(
  args: readonly string[],
  { env, signal, output, onProcess }: VitestRun,
): Promise<number> {
  const child = spawn(process.execPath, [VITEST, 'run', ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', output ?? 'inherit', output ?? 'inherit'],
  })
  onProcess?.(child.pid)
  const ended = once(child, 'exit') as Promise<[number | null]>
  const end = (): void => {
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref()
  }
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  const [status] = await ended
  signal.removeEventListener('abort', end)
  onProcess?.(undefined)
  return status ?? 1
}
