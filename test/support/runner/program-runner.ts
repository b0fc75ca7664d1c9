import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tieToUs } from '../tie-to-us.ts'

/** A run of a program. */
export interface Run {
  readonly args: readonly string[]
  /** Variables beside those of the process. */
  readonly env?: Readonly<Record<string, string>>
  /** For standard input. */
  readonly input?: string
}

/** What a run wrote, and its exit code. */
export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The message that requests a run. */
export interface RunRequest extends Run {
  readonly id: number
}

/** The message that answers it. */
export interface RunReply extends Ran {
  readonly id: number
}

export interface RunnerOptions {
  /** A script that calls `serveRuns`. */
  readonly script: URL
  /** Words before the program, such as those of `ip netns exec`. */
  readonly enter?: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * A process that runs a program again and again, from the function that its main file calls: to start a process takes
 * more processor time than most runs.
 */
export interface ProgramRunner extends AsyncDisposable {
  readonly pid: number | undefined
  run(run: Run): Promise<Ran>
}

export function startProgramRunner(options: RunnerOptions): ProgramRunner {
  const { script, enter = [], cwd, env = {} } = options
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', script.pathname]
  const [file = '', ...words] = [...enter, ...node]
  const child = spawn(file, words, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  tieToUs(child)
  const gone = once(child, 'exit')
  const waiting = new Map<number, PromiseWithResolvers<Ran>>()
  let last = 0
  child.on('message', ({ id, ...ran }: RunReply) => {
    waiting.get(id)?.resolve(ran)
    waiting.delete(id)
  })
  void gone.then((how) => {
    const error = new Error(`the runner ${script.pathname} ended: ${how.join(' ')}`)
    for (const { reject } of waiting.values()) reject(error)
  })
  return {
    pid: child.pid,
    run(run) {
      const id = ++last
      const result = Promise.withResolvers<Ran>()
      waiting.set(id, result)
      child.send({ id, ...run } satisfies RunRequest)
      return result.promise
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await gone
    },
  }
}
