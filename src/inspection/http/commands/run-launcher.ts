import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'

/** Milliseconds that a command may take, and characters that it may print. */
const TIMEOUT_MS = 60_000
const MAX_OUTPUT = 64_000_000

/** How a command ended. */
export interface CommandOutput {
  /** Undefined: a signal ended it, or it could not be started. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program with these words. Never throws. */
export type RunCommand = (words: readonly string[]) => Promise<CommandOutput>

/**
 * Runs commands of the program at `launcher` as processes of their own, which yield to this one: they have a lower
 * priority, and the kernel ends them first where memory is short.
 */
export function runLauncher(launcher: string): RunCommand {
  return (words) =>
    new Promise((resolve) => {
      const limits = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT } as const
      const child = execFile(launcher, words, { ...limits, cwd: '/' }, (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code
        const isKilled = typeof code !== 'number'
        resolve({
          code: isKilled ? undefined : code,
          stdout,
          stderr: stderr || (error?.message ?? ''),
        })
      })
      if (child.pid !== undefined) yieldToOthers(child.pid)
    })
}

/** Where the process is gone already, nothing is to be done. */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {}
  writeFile(`/proc/${pid}/oom_score_adj`, '500').catch(() => undefined)
}
