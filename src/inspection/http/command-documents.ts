import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import { NodeProxyError } from '../../lib/error.ts'
import { Mutex } from '../../lib/mutex.ts'
import { quote } from '../../lib/quote.ts'

/** Milliseconds that a command may take, and characters that it may print. */
const TIMEOUT_MS = 60_000
const MAX_OUTPUT = 64_000_000

/** The most commands that may wait or run. */
const MAX_COMMANDS = 8

/** The status code of HTTP for each exit code of a command. */
const STATUSES: ReadonlyMap<number | undefined, number> = new Map([
  [1, 422],
  [2, 400],
  [3, 503],
])

/** The JSON that a command printed, or the error with its status code. */
export type CommandDocument =
  | { readonly json: string }
  | { readonly error: NodeProxyError; readonly status: number }

/** Runs a command of node-proxy for its JSON; see `commandDocuments`. */
export type ReadDocument = (words: readonly string[]) => Promise<CommandDocument>

/** Runs commands one at a time. A command that equals a waiting or running one is not run again. */
export function commandDocuments(run: RunCommand): ReadDocument {
  const commands = new OneAtATime<CommandDocument>(MAX_COMMANDS)
  return async (words) => {
    const found = commands.run(JSON.stringify(words), async () => documentOf(await run(words)))
    return found ?? { error: busy(), status: 503 }
  }
}

/** Exit code 1 with a document: the document shows what is wrong. */
function documentOf({ code, stdout, stderr }: CommandOutput): CommandDocument {
  const json = stdout.trim()
  if ((code === 0 || code === 1) && json.startsWith('{')) return { json }
  return { error: errorOf(stderr), status: STATUSES.get(code) ?? 500 }
}

/** Commands end their errors with the code: `node-proxy: message; remedy (NP_…)`. */
function errorOf(stderr: string): NodeProxyError {
  const [, message, code] = /^node-proxy: (.*) \((NP_[A-Z0-9_]+)\)$/m.exec(stderr) ?? []
  if (message !== undefined && code !== undefined) return new NodeProxyError(code, message)
  return new NodeProxyError('NP_INSPECTION_COMMAND', `the command failed: ${quote(stderr)}`, {
    hint: 'run the same command of node-proxy on the node',
  })
}

function busy(): NodeProxyError {
  return new NodeProxyError('NP_INSPECTION_BUSY', `${MAX_COMMANDS} other commands wait or run`, {
    hint: 'try again when they have ended',
  })
}

/**
 * Runs named pieces of work one at a time. A request for a piece that already waits or runs gets the same result;
 * undefined: too many other pieces wait.
 */
export class OneAtATime<T> {
  readonly #mutex = new Mutex()
  readonly #unfinished = new Map<string, Promise<T>>()
  readonly #max: number

  /** `max`: pieces that may wait or run. */
  constructor(max: number) {
    this.#max = max
  }

  run(name: string, work: () => Promise<T>): Promise<T> | undefined {
    const present = this.#unfinished.get(name)
    if (present !== undefined || this.#unfinished.size >= this.#max) return present
    const result = this.#mutex.run(work).finally(() => this.#unfinished.delete(name))
    this.#unfinished.set(name, result)
    return result
  }
}

/** How a command ended. */
interface CommandOutput {
  /** Undefined: a signal ended it, or it could not be started. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program with these words. Never throws. */
type RunCommand = (words: readonly string[]) => Promise<CommandOutput>

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

/** Lowers the priority of a process. Does nothing if the process has ended. */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {}
  writeFile(`/proc/${pid}/oom_score_adj`, '500').catch(() => undefined)
}
