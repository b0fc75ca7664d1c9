import { spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { constants } from 'node:os'
import { findProgram } from '../system/find-program.ts'
import { type Launch, launchWords } from './launch.ts'
import type { RotatingLog } from './rotating-log.ts'

/** A program to be run for a Pod. */
export interface ProcessPlan {
  readonly launch: Launch
  readonly command: readonly string[]
  readonly environment: ReadonlyMap<string, string>
  /** Empty: the root folder. */
  readonly workingDir: string
  /** Where its output goes; undefined: nowhere. */
  readonly log: RotatingLog | undefined
}

export interface ProcessEnd {
  readonly exitCode: number
  /** The number of the signal that ended it, or 0. */
  readonly signal: number
}

export interface ContainerProcess {
  readonly pid: number
  /** Never rejects. */
  readonly ended: Promise<ProcessEnd>
  /** Resolves when, beyond that, nobody holds its output any more. */
  readonly closed: Promise<void>
  /** Takes no more of its output, whoever still holds it. */
  release(): void
  /** SIGTERM goes to the process itself, SIGKILL to all that it started, too. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void
}

/** The process, or one sentence that says why there is none. */
export async function startProcess(plan: ProcessPlan): Promise<ContainerProcess | string> {
  const { launch, command, environment, workingDir, log } = plan
  const cwd = workingDir || '/'
  const [program = ''] = command
  const isFolder = await stat(cwd)
    .then((found) => found.isDirectory())
    .catch(() => false)
  if (!isFolder) return `there is no folder ${JSON.stringify(cwd)}`
  if ((await findProgram(program, environment.get('PATH') ?? '', cwd)) === undefined) {
    return `there is no program ${JSON.stringify(program)} that may be executed`
  }
  const [first = '', ...args] = launchWords(launch, command)
  const child = spawn(first, args, {
    cwd,
    env: Object.fromEntries(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  for (const output of [child.stdout, child.stderr]) {
    if (log === undefined) output.resume()
    else output.pipe(log.stream, { end: false })
  }
  const failure = new Promise<string>((resolve) => {
    child.once('error', ({ message }) => resolve(message))
  })
  const { pid } = child
  if (pid === undefined) return failure
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, name) => {
      signalGroup(pid)
      resolve({ exitCode: code ?? 0, signal: name === null ? 0 : constants.signals[name] })
    })
  })
  return {
    pid,
    ended,
    closed: new Promise((resolve) => child.once('close', () => resolve())),
    release: () => {
      for (const output of [child.stdout, child.stderr]) output.destroy()
    },
    signal: (name) => {
      if (name === 'SIGKILL') signalGroup(pid)
      else child.kill(name)
    },
  }
}

/** Every process leads a group of its own; one without members is no mistake. */
function signalGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    return
  }
}
