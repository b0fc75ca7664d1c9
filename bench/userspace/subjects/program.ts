import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProxySetup, Running } from './subject.ts'

const POLL_MS = 20
const TIMEOUT_MS = 15_000
const STOP_MS = 5_000
/** The state of a listening socket in /proc/net/tcp (linux/tcp_states.h). */
const LISTENING = '0A'

/** Starts a proxy in its namespace; resolves when it listens, and otherwise throws an error with its output. */
export async function startProgram(
  { node, listen }: ProxySetup,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const child = spawn('ip', ['netns', 'exec', node, ...command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-2_000)
    })
  const ended = once(child, 'exit')
  const pid = child.pid ?? 0
  const stop = async () => {
    child.kill('SIGTERM')
    const killing = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await ended
    clearTimeout(killing)
  }
  const until = performance.now() + TIMEOUT_MS
  while (!listens(pid, listen.port)) {
    if (child.exitCode !== null) throw new Error(`${command[0]} ended: ${output.trim()}`)
    if (performance.now() > until) {
      await stop()
      throw new Error(`${command[0]} does not listen: ${output.trim()}`)
    }
    await delay(POLL_MS)
  }
  return { address: listen, pids: [pid], stop }
}

/** Whether a socket in the namespace of the process listens on the port. */
function listens(pid: number, port: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
    const isOurs = (fields: readonly string[]) =>
      fields[2]?.endsWith(local) === true && fields[4] === LISTENING
    return text.split('\n').some((line) => isOurs(line.split(/ +/)))
  } catch {
    return false
  }
}
