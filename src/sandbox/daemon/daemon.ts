import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { NodeProxyError } from '../../lib/error.ts'
import type { Agent } from '../agent/agent.ts'
import type { Namespace } from '../network/namespace.ts'
import { logText } from './log-line.ts'
import { isApplied } from './samples.ts'

const LAUNCHER = new URL('../../../bin/node-proxy', import.meta.url).pathname
const METRICS = 'http://127.0.0.1:10249/metrics'
const KEPT_LINES = 200
const POLL_MS = 20
const PATIENCE_MS = 60_000

export interface DaemonOptions {
  readonly node: Namespace
  /** Asks for the metrics from inside the node. */
  readonly agent: Agent
  readonly flags: readonly string[]
  readonly logFile: string
}

/** node-proxy as a child process inside the node. */
export class Daemon {
  readonly #options: DaemonOptions
  readonly #lines: string[] = []
  readonly #child
  /** How it ended: `exit 2`, `SIGTERM`. */
  readonly ended: Promise<string>
  #running = true

  constructor(options: DaemonOptions) {
    this.#options = options
    const [program = '', ...args] = options.node.command([LAUNCHER, ...options.flags])
    this.#child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const log = createWriteStream(options.logFile, { flags: 'a' })
    log.on('error', () => undefined)
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        log.write(`${line}\n`)
        this.#lines.push(logText(line))
        if (this.#lines.length > KEPT_LINES) this.#lines.shift()
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

  /** The last lines that it said, oldest first. */
  lastLines(count: number): readonly string[] {
    return this.#lines.slice(-count)
  }

  /** Its metrics as text; empty while it does not serve them. */
  async metrics(): Promise<string> {
    const answer = await this.#options.agent.ask({ url: METRICS, timeoutMs: 2000 })
    return answer.kind === 'answered' && answer.status === 200 ? answer.body : ''
  }

  /** Resolves once the kernel holds everything up to these revisions, by resource. */
  applied(versions: ReadonlyMap<string, number>): Promise<void> {
    return this.until('has written its rules', (text) => isApplied(text, versions))
  }

  /** Waits for its metrics to say something. Throws NP_SANDBOX_DAEMON when it ends or takes too long. */
  async until(what: string, holds: (metrics: string) => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while (performance.now() < deadline) {
      if (!this.#running) throw this.#failure(`ended (${await this.ended})`)
      if (holds(await this.metrics())) return
      await Promise.race([delay(POLL_MS), this.ended])
    }
    throw this.#failure(`not yet: ${what} (waited ${PATIENCE_MS / 1000} s)`)
  }

  /** Signals it and waits for the end. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.#running) this.#child.kill(signal)
    const slow = delay(10_000, undefined, { ref: false }).then(() => this.#child.kill('SIGKILL'))
    await Promise.race([this.ended, slow])
    await this.ended
  }

  #failure(how: string): NodeProxyError {
    const said = this.lastLines(15).map((line) => `    ${line}`)
    return new NodeProxyError('NP_SANDBOX_DAEMON', [`node-proxy ${how}`, ...said].join('\n'), {
      hint: 'its own words are above; npm start -- --help',
    })
  }
}

/** Runs node-proxy once to its end, for example with `--cleanup`. */
export async function runDaemonOnce(node: Namespace, flags: readonly string[]): Promise<string> {
  return node.exec([LAUNCHER, ...flags])
}
