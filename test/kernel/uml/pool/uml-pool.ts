import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import type { PoolOptions, PoolRunnerInitializer, PoolWorker, WorkerRequest } from 'vitest/node'
import { KernelRack } from './kernel-rack.ts'
import type { TestKernel, TestWorker } from './test-kernel.ts'

/**
 * A pool of vitest whose workers run in User-mode Linux. Vitest itself stays on
 * this machine: it reads and transforms the files, chooses what runs, and
 * reports; so a test in the other kernel is a test like any other.
 */
export function umlPool(): PoolRunnerInitializer {
  const rack = new KernelRack()
  let known: PoolOptions['project']['vitest'] | undefined
  return {
    name: 'uml',
    createPoolWorker: (options) => {
      const { vitest } = options.project
      if (known !== vitest) vitest.onClose(() => rack.close())
      known = vitest
      return new UmlPoolWorker(options, rack)
    },
  }
}

class UmlPoolWorker implements PoolWorker {
  readonly name = 'uml'
  readonly cacheFs = true
  readonly #options: PoolOptions
  readonly #rack: KernelRack
  /** Vitest comes and goes with its listeners; a worker that ends badly must not end vitest. */
  readonly #events = new EventEmitter().on('error', () => undefined)
  #kernel: TestKernel | undefined
  #worker: TestWorker | undefined
  #files: readonly string[] = []

  constructor(options: PoolOptions, rack: KernelRack) {
    this.#options = options
    this.#rack = rack
  }

  on(event: string, callback: (...args: unknown[]) => void): void {
    this.#events.on(event, callback)
  }

  off(event: string, callback: (...args: unknown[]) => void): void {
    this.#events.off(event, callback)
  }

  send(message: WorkerRequest): void {
    if (message.type === 'run') this.#files = message.context.files.map(({ filepath }) => filepath)
    this.#worker?.send(withoutCoverage(message))
  }

  deserialize(data: unknown): unknown {
    return data
  }

  async start(): Promise<void> {
    const { project, distPath, execArgv, env } = this.#options
    this.#kernel = await this.#rack.take(project.tmpDir)
    this.#worker = this.#kernel.start({
      entrypoint: join(distPath, 'workers/forks.js'),
      execArgv,
      env: { ...env, TMPDIR: undefined },
    })
    const { events } = this.#worker
    const { outputStream, errorStream } = project.vitest.logger
    events.on('output', (to, text) => {
      const stream = to === 'stdout' ? outputStream : errorStream
      stream.write(text)
    })
    events.on('message', (data) => this.#events.emit('message', data))
    events.on('exit', (code, signal) => this.#events.emit('exit', code, signal))
    events.on('error', (cause) => {
      const what = `the kernel was lost with ${this.#files.join(', ')}`
      this.#events.emit('error', new Error(what, { cause }))
    })
  }

  async stop(): Promise<void> {
    await this.#worker?.stop()
    if (this.#kernel !== undefined) this.#rack.giveBack(this.#kernel)
    this.#kernel = undefined
  }
}

/** What a worker in the other kernel writes about coverage stays there, so it shall not look. */
function withoutCoverage(message: WorkerRequest): WorkerRequest {
  if (message.type !== 'start') return message
  const { config } = message.context
  const coverage = { ...config.coverage, enabled: false }
  return { ...message, context: { ...message.context, config: { ...config, coverage } } }
}
