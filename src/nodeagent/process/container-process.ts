import { spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import { findProgram } from '../system/find-program.ts'
import { killGroup } from '../system/run-command.ts'
import { type Launch, launchWords } from './launch.ts'

/** A program to be run for a Pod. */
export interface ProcessPlan {
  readonly launch: Launch
  readonly command: readonly string[]
  readonly environment: ReadonlyMap<string, string>
  /** The program as shown in messages, because the real one may contain a value of a Secret. Default: the program. */
  readonly shownProgram?: string | undefined
  /** The path on the machine of a path that the process sees. Default: the same. */
  readonly locate?: ((path: string) => string) | undefined
  /** Empty: the root folder. */
  readonly workingDir: string
  /** Receives its output; undefined: the output is dropped. */
  readonly log: ProcessOutputs | undefined
}

/** The outputs of a process. */
export interface ProcessOutputs {
  readonly stdout: Writable
  readonly stderr: Writable
}

/** How a process ended. */
interface ProcessEnd {
  readonly exitCode: number
  /** The number of the signal that ended it, or 0. */
  readonly signal: number
}

/** A started process. */
export interface ContainerProcess {
  readonly pid: number
  /** Never rejects. */
  readonly ended: Promise<ProcessEnd>
  /** Resolves when the process has ended and no other process has its output open. */
  readonly closed: Promise<void>
  /** Closes its output, although a process may still have it open. */
  release(): void
  /** Sends SIGTERM to the process, or SIGKILL to its process group. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void
}

/** The arguments for `spawn`. */
interface PreparedProcess {
  readonly words: readonly string[]
  readonly options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> }
}

/** How a process is started, or why it cannot be, in one sentence. */
export async function prepareProcess(plan: ProcessPlan): Promise<PreparedProcess | string> {
  const { launch, command, environment, workingDir, locate = samePath } = plan
  const cwd = workingDir || '/'
  const [program = ''] = command
  const isFolder = await stat(locate(cwd))
    .then((found) => found.isDirectory())
    .catch(() => false)
  if (!isFolder) return `there is no folder ${JSON.stringify(cwd)}`
  const path = environment.get('PATH') ?? ''
  if ((await findProgram(program, path, { folder: cwd, locate })) === undefined) {
    return `there is no program ${JSON.stringify(plan.shownProgram ?? program)} that may be executed`
  }
  return {
    words: launchWords(launch, command, cwd),
    options: {
      cwd: launch.mountNamespace === undefined ? cwd : '/',
      env: Object.fromEntries(environment),
    },
  }
}

/** Starts a process. @returns why it could not be started, in one sentence */
export async function startProcess(plan: ProcessPlan): Promise<ContainerProcess | string> {
  const prepared = await prepareProcess(plan)
  if (typeof prepared === 'string') return prepared
  const { log } = plan
  const [first = '', ...args] = prepared.words
  const child = spawn(first, args, {
    ...prepared.options,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const failure = new Promise<string>((resolve) => {
    child.once('error', ({ message }) => resolve(message))
  })
  const { pid } = child
  // Without a process there may be no streams either.
  if (pid === undefined) return failure
  for (const name of ['stdout', 'stderr'] as const) {
    if (log === undefined) child[name].resume()
    else child[name].pipe(log[name], { end: false })
  }
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, name) => {
      killGroup(pid)
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
      if (name === 'SIGKILL') killGroup(pid)
      else child.kill(name)
    },
  }
}

function samePath(path: string): string {
  return path
}
