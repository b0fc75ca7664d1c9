import { spawn } from 'node:child_process'
import { NodeProxyError } from '../../lib/error.ts'

const TIMEOUT_MS = 60_000

/**
 * Runs one program to its end and returns its standard output; no shell is involved. It runs in its own
 * session, so that Ctrl-C in a terminal does not reach it. Throws NP_NODEAGENT_COMMAND with its output when it
 * does not exit 0.
 */
export function runCommand(command: readonly string[], input = ''): Promise<string> {
  const [program = '', ...args] = command
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'pipe', detached: true, timeout: TIMEOUT_MS })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.on('error', (cause) => reject(failed(command, cause.message)))
    // Without a process there may be no streams either.
    if (child.pid === undefined) return
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    child.stdin.on('error', () => undefined)
    child.on('close', (status, signal) => {
      if (status === 0) return resolve(Buffer.concat(out).toString())
      const output = Buffer.concat([...err, ...out]).toString()
      reject(failed(command, `${signal ?? `exit ${status}`}: ${output.trim()}`))
    })
    child.stdin.end(input)
  })
}

function failed(command: readonly string[], how: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_COMMAND', `${command.join(' ')}: ${how}`, {
    hint: 'is this root with CAP_SYS_ADMIN and CAP_NET_ADMIN, allowed to make network namespaces?',
  })
}

/** Sends SIGKILL; it is not an error if the process has already ended. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    return
  }
}

/** Sends SIGKILL to the process group that a process leads, which may be empty. */
export function killGroup(pid: number): void {
  killProcess(-pid)
}
