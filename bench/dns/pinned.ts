import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** The processor of the server; clients use the other one. */
export const SERVER_CPU = '0'
export const CLIENT_CPU = '1'

/** A server on one processor. */
export interface PinnedServer {
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

/** Starts a program on the server's processor; `portOf` finds the port in one of its lines. */
export async function startPinned(
  command: readonly string[],
  portOf: (line: string) => number | undefined,
): Promise<PinnedServer> {
  const child = spawn('taskset', ['-c', SERVER_CPU, ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const port = portOf(line)
    if (port === undefined) continue
    child.stdout.resume()
    return { pid: child.pid!, port, stop: () => end(child) }
  }
  throw new Error(`${command.join(' ')} ended before it served`)
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
