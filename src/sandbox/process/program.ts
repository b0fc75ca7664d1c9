import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { logText } from './log-line.ts'

const KEPT_LINES = 200
/** How long a program may take to end after a signal. */
const END_MS = 10_000

export interface ProgramOptions {
  /** With the way into a namespace, if it is to run in one. */
  readonly command: readonly string[]
  /** The output of the program is appended to it. */
  readonly logFile: string
  readonly onLine?: (line: string) => void
}

/** One of our programs as a child process. */
export class Program {
  readonly #lines: string[] = []
  readonly #child
  /** How it ended: `exit 2`, `SIGTERM`. */
  readonly ended: Promise<string>
  #running = true

  constructor({ command, logFile, onLine }: ProgramOptions) {
    const [program = '', ...args] = command
    this.#child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const log = createWriteStream(logFile, { flags: 'a' })
    log.on('error', () => undefined)
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        log.write(`${line}\n`)
        this.#keep(logText(line))
        onLine?.(line)
      })
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message))
      this.#child.once('close', (status, signal) => resolve(signal ?? `exit ${status}`))
    })
    void this.ended.then(() => {
      this.#running = false
      log.end()
    })
  }

  get pid(): number | undefined {
    return this.#running ? this.#child.pid : undefined
  }

  /** The last lines of its output, oldest first. */
  lastLines(count: number): readonly string[] {
    return this.#lines.slice(-count)
  }

  /** Signals it and waits for the end. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.#running) this.#child.kill(signal)
    const slow = delay(END_MS, undefined, { ref: false }).then(() => this.#child.kill('SIGKILL'))
    await Promise.race([this.ended, slow])
    await this.ended
  }

  #keep(text: string): void {
    this.#lines.push(text)
    if (this.#lines.length > KEPT_LINES) this.#lines.shift()
  }
}
