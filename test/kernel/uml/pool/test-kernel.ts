import { EventEmitter, once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serialize } from 'node:v8'
import type { Kernel } from '../../../../src/uml/kernel-run.ts'
import { startKernel } from '../../../../src/uml/start-kernel.ts'
import { type Order, type Report, ReportReader, type WorkerStart } from './protocol.ts'

const AGENT = new URL('./inside.ts', import.meta.url).pathname
/** Where the orders are seen inside. */
const INBOX = '/run/np-orders'
/** MiB: the suites at 10,000 Services need two of them. */
const MEMORY = 3072
/** It beats every five seconds, however busy its tests are. */
const SILENCE_MS = 240_000

/** What vitest listens to. */
export type WorkerEvents = EventEmitter<{
  message: [unknown]
  output: ['stdout' | 'stderr', string]
  exit: [number | null, string | null]
  error: [Error]
}>

export interface TestWorker {
  readonly events: WorkerEvents
  send(data: unknown): void
  /** Resolves when it has ended, be it together with its kernel. */
  stop(): Promise<void>
}

/** A kernel in which vitest's workers run. */
export class TestKernel {
  /** Settles when it is gone, for whatever reason. */
  readonly gone: Promise<void>
  readonly #kernel: Kernel
  readonly #inbox: string
  readonly #workers = new Map<number, WorkerEvents>()
  #death: Error | undefined
  #orders = 0
  #lastWorker = 0

  /** Boots one; `modules` is the folder where vitest leaves what it transformed. */
  static async boot(modules: string, turn: number): Promise<TestKernel> {
    mkdirSync(modules, { recursive: true })
    const inbox = mkdtempSync(join(tmpdir(), `np-uml-orders-${process.pid}-`))
    const kernel = await startKernel({
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', AGENT, INBOX],
      env: { ...process.env, TMPDIR: undefined },
      cwd: process.cwd(),
      memory: MEMORY,
      turn,
      share: [
        { host: modules, inside: modules },
        { host: inbox, inside: INBOX, writable: true },
      ],
      silenceMs: SILENCE_MS,
    })
    const test = new TestKernel(kernel, inbox)
    await Promise.race([once(kernel.channel, 'data'), test.gone])
    if (test.#death !== undefined) throw test.#death
    return test
  }

  private constructor(kernel: Kernel, inbox: string) {
    this.#kernel = kernel
    this.#inbox = inbox
    const reader = new ReportReader()
    kernel.channel.on('data', (chunk: Buffer) => {
      for (const report of reader.take(chunk)) this.#hear(report)
    })
    this.gone = kernel.ended.then(
      ({ status, console }) => this.#end(new Error(`the agent exited ${status}:\n${console}`)),
      (error: Error) => this.#end(error),
    )
  }

  start(how: WorkerStart): TestWorker {
    const worker = ++this.#lastWorker
    const events: WorkerEvents = new EventEmitter()
    this.#workers.set(worker, events)
    this.#order({ kind: 'start', worker, ...how })
    return {
      events,
      send: (data) => this.#order({ kind: 'message', worker, data }),
      stop: async () => {
        if (!this.#workers.has(worker)) return
        const exited = once(events, 'exit')
        this.#order({ kind: 'stop', worker })
        await Promise.race([exited, this.gone])
      },
    }
  }

  kill(): void {
    this.#kernel.kill()
  }

  /** A file, because the line to the kernel holds no more than a few kilobytes. */
  #order(order: Order): void {
    if (this.#death !== undefined) return
    const name = String(++this.#orders)
    writeFileSync(join(this.#inbox, `${name}.part`), serialize(order))
    renameSync(join(this.#inbox, `${name}.part`), join(this.#inbox, name))
    this.#kernel.channel.write(`${name}\n`)
  }

  #hear(report: Report): void {
    if (report.kind === 'beat') return
    const events = this.#workers.get(report.worker)
    if (report.kind === 'message') events?.emit('message', report.data)
    else if (report.kind === 'output') events?.emit('output', report.to, report.text)
    else {
      this.#workers.delete(report.worker)
      events?.emit('exit', report.code, report.signal)
    }
  }

  #end(error: Error): void {
    this.#death = error
    for (const events of this.#workers.values()) events.emit('error', error)
    this.#workers.clear()
    rmSync(this.#inbox, { recursive: true, force: true })
  }
}
