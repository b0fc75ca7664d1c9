import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { pidsIn } from './leftovers.ts'
import type { Namespace } from './namespace.ts'

/** A long-running program inside a namespace. */
export interface LabProcess {
  readonly pid: number
  /** Everything that it wrote so far, both streams. */
  output(): string
  /** Resolves when the output contains `text`, `times` times; throws if the program ends before. */
  said(text: string, options?: { readonly times?: number }): Promise<void>
  /** Sends a signal to it and to every process in the namespace that started after it and is not spared. */
  signal(name: NodeJS.Signals): void
  /** Sends a signal to it alone. */
  signalAlone(name: NodeJS.Signals): void
  /** Exit status or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** Long enough to start a program even on a machine that is many times slower than usual. */
const START_MS = 200_000

export interface ProcessOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Milliseconds that `said` waits; 200,000 unless set. */
  readonly timeoutMs?: number
}

export function startProcess(
  namespace: Namespace,
  command: readonly string[],
  options: ProcessOptions = {},
): LabProcess {
  const before = new Set(pidsIn(namespace.name))
  const child = spawn('ip', ['netns', 'exec', namespace.name, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  })
  let text = ''
  const waiters = new Set<() => void>()
  const hear = (chunk: Buffer): void => {
    text += chunk.toString()
    for (const waiter of waiters) waiter()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const ended = once(child, 'exit').then(([status, signal]) => {
    for (const waiter of waiters) waiter()
    return (status ?? signal) as number | NodeJS.Signals
  })
  return {
    pid: child.pid ?? 0,
    output: () => text,
    ended,
    said: (wanted, { times = 1 } = {}) =>
      waitFor({
        holds: () => text.split(wanted).length > times,
        wanted,
        text: () => text,
        waiters,
        ended,
        options,
      }),
    signalAlone(name) {
      if (child.pid !== undefined) send(child.pid, name)
    },
    signal(name) {
      for (const pid of pidsIn(namespace.name)) {
        if (!before.has(pid) && !namespace.spared.has(pid)) send(pid, name)
      }
    },
  }
}

interface Wait {
  readonly holds: () => boolean
  readonly wanted: string
  readonly text: () => string
  readonly waiters: Set<() => void>
  readonly ended: Promise<unknown>
  readonly options: ProcessOptions
}

function waitFor({ holds, wanted, text, waiters, ended, options }: Wait): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error): void => {
      clearTimeout(timer)
      waiters.delete(check)
      if (error === undefined) resolve()
      else reject(error)
    }
    const check = (): void => {
      if (holds()) settle()
    }
    const timer = setTimeout(
      () => settle(new Error(`never said ${JSON.stringify(wanted)}:\n${text()}`)),
      options.timeoutMs ?? START_MS,
    )
    waiters.add(check)
    void ended.then((how) => settle(new Error(`ended (${String(how)}):\n${text()}`)))
    check()
  })
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    return
  }
}
