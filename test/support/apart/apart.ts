import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { removeScratch } from './scratch.ts'

const END_MS = 20_000
const POLL_MS = 20
const APART = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/**
 * Runs a TypeScript program as the first process of a process namespace, with a network and mounts of its own; returns
 * its exit status. When it ends, the kernel kills whatever still runs there, and the mounts are gone. The end of
 * `signal`, and of this process, closes its standard input.
 */
export async function runApart(
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const child = spawn('unshare', [...APART, process.execPath, program, ...args], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.on('error', () => undefined)
  const stop = (): void => void child.stdin.end()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  const [status] = (await once(child, 'exit')) as [number | null]
  signal.removeEventListener('abort', stop)
  return status ?? 1
}

/** In that program: aborts when `runApart` closes its standard input, its caller dies, or a signal comes. */
export function untilClosed(): AbortSignal {
  const stopping = new AbortController()
  process.stdin.on('end', () => stopping.abort()).resume()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => stopping.abort())
  }
  return stopping.signal
}

/**
 * In that program, for the case that its caller died: kills every other process of the namespace, whose mounts go with
 * it, and removes the scratch folder.
 */
export async function removeScratchAlone(scratch: string): Promise<void> {
  const deadline = performance.now() + END_MS
  while (others().length > 0 && performance.now() < deadline) {
    for (const pid of others()) killNow(pid)
    await delay(POLL_MS)
  }
  removeScratch(scratch)
}

/** Processes of this namespace but for its first one and those that its end will reap. */
function others(): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1 && isRunning(pid))
}

function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
