import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { isJsonObject, type Json, scalarText } from '../../lib/json.ts'

const LEVELS: Readonly<Record<string, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
const LEFT_OUT = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'name', 'version'])
const CONTROL = /\p{Cc}/gu

const KEPT_LINES = 200
/** How many milliseconds a program may take to end after a signal. */
const END_MS = 10_000

export interface ProgramOptions {
  /** The command; if it is to run in a namespace, with the prefix that enters it. */
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

/** One record of the daemon's log as a line for people; any other line unchanged. */
export function logText(line: string): string {
  const record = parse(line)
  if (record === undefined) return line.replace(CONTROL, ' ').trim()
  const { level, msg } = record
  const rest = Object.entries(record)
    .filter(([key, value]) => !LEFT_OUT.has(key) && scalarText(value) !== '')
    .map(([key, value]) => `${key}=${scalarText(value)}`)
  const word = LEVELS[scalarText(level)] ?? scalarText(level)
  return [word, scalarText(msg), ...rest].join(' ').replace(CONTROL, ' ').trim()
}

function parse(line: string): Record<string, Json> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
