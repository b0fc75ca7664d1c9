import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { tieToUs } from '../../support/tie-to-us.ts'

const TAIL = 4_000
const POLL_MS = 100

/** A program that runs until it is stopped, with its output in a file. */
export interface Program {
  readonly pid: number
  isRunning(): boolean
  /** The end of its output. */
  tail(): string
  readonly ended: Promise<void>
  /** kill -9; resolves once it is gone. */
  kill(): Promise<void>
}

export function startProgram(
  log: string,
  command: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Program {
  const [program = '', ...args] = command
  const output = openSync(log, 'a')
  const child = spawn(program, args, {
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
  })
  closeSync(output)
  tieToUs(child)
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  const ended = once(child, 'exit').then(() => undefined)
  return {
    pid: pidOf(child, program),
    ended,
    isRunning: () => !hasEnded(),
    tail: () => readFileSync(log, 'utf8').slice(-TAIL),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function pidOf({ pid }: ChildProcess, program: string): number {
  if (pid === undefined) throw new Error(`${program} does not start`)
  return pid
}

/**
 * Tries until `probe` returns a value that is neither undefined nor false. Throws at the deadline, with the last error
 * and the words of `why`.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  { timeoutMs, why = () => '' }: { readonly timeoutMs: number; readonly why?: () => string },
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    let cause: unknown
    try {
      const value = await probe()
      if (value !== undefined && value !== false) return value
    } catch (error) {
      cause = error
    }
    if (performance.now() > deadline) {
      throw new Error(`${what}: not after ${timeoutMs / 1_000} s\n${why()}`, { cause })
    }
    await delay(POLL_MS)
  }
}
