import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tieToUs } from '../support/tie-to-us.ts'
import type { Load } from './options.ts'

/** Both end by themselves when the process that started them is gone. */
const BUSY = 'while kill -0 "$PPID"; do n=0; while [ $n -lt 100000 ]; do n=$((n+1)); done; done'
const DISK = [
  // Without a name in the folder nothing is left of it.
  'exec 3>"$1" && rm "$1"',
  'while kill -0 "$PPID"; do dd if=/dev/zero of=/dev/fd/3 bs=1M count=16 conv=fsync; done',
].join('\n')

/** A load that runs until it is ended. */
export type RunningLoad = Disposable

/** Starts a load; `tests` is the process that runs the tests, undefined while there is none. */
export function startLoad(
  { name, count }: Load,
  { folder, tests }: { readonly folder: string; readonly tests: () => number | undefined },
): RunningLoad {
  if (name === 'stops') return startStops(count * 100, tests)
  const script = name === 'busy' ? BUSY : DISK
  const children = Array.from({ length: count }, (_, index) => {
    const args = ['-c', script, 'np-load', join(folder, `load-${index}`)]
    const child = spawn('sh', args, { stdio: 'ignore', detached: true })
    tieToUs(child)
    return child
  })
  return {
    [Symbol.dispose]: () => {
      for (const { pid } of children) if (pid !== undefined) signal(-pid, 'SIGKILL')
    },
  }
}

const PERIOD_MS = 1_000

/**
 * Each second another process that runs tests stands still for a while. What tests started is
 * left alone: they stop such processes themselves, and count on it.
 */
function startStops(stoppedMs: number, tests: () => number | undefined): RunningLoad {
  let turn = 0
  let stopped: number | undefined
  const goOn = (): void => {
    if (stopped !== undefined) signal(stopped, 'SIGCONT')
    stopped = undefined
  }
  const timer = setInterval(() => {
    const parent = tests()
    const workers = parent === undefined ? [] : childrenOf(parent)
    stopped = workers[turn++ % Math.max(1, workers.length)]
    if (stopped !== undefined) signal(stopped, 'SIGSTOP')
    setTimeout(goOn, stoppedMs)
  }, PERIOD_MS)
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer)
      goOn()
    },
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return text.trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It is gone.
  }
}
