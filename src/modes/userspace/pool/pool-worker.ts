import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Answer, Order, WorkerSetup } from '../worker/messages.ts'

/** MiB of the heap of one worker. Young objects are few, and keep memory that nothing needs. */
const HEAP = { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 6 } as const

/** What a worker thread is started with. */
export interface PoolWorkerOptions {
  readonly setup: Omit<WorkerSetup, 'port'>
  /** Makes a native worker look for messages. */
  readonly wake: () => void
  /** It ended by itself. */
  readonly onLost: (error: Error) => void
}

/** One worker thread, which takes orders in turn. */
export class PoolWorker {
  readonly #options: PoolWorkerOptions
  readonly #port: MessagePort
  readonly #worker: Worker
  readonly #waiting = new Map<number, (answer?: Answer) => void>()
  readonly #ended = Promise.withResolvers<void>()
  #last = 0
  #isEnding = false
  #isLost = false

  constructor(options: PoolWorkerOptions) {
    this.#options = options
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#port.on('message', (answer: Answer) => this.#answered(answer))
    this.#port.unref()
    this.#worker = new Worker(new URL('./worker-main.ts', import.meta.url), {
      workerData: { ...options.setup, port: port2 } satisfies WorkerSetup,
      transferList: [port2],
      resourceLimits: HEAP,
    })
    this.#worker.unref()
    this.#worker.on('error', (error: Error) => this.#lost(error))
    this.#worker.on('exit', (code) => this.#lost(new Error(`the worker ended with ${code}`)))
  }

  /** Resolves when the worker has carried out the order, or to undefined when it is lost. */
  give(order: Omit<Order, 'number'>): Promise<Answer | undefined> {
    if (this.#isLost) return Promise.resolve(undefined)
    const number = ++this.#last
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve)
      this.#port.ref()
      this.#port.postMessage({ ...order, number } satisfies Order)
      this.#options.wake()
    })
  }

  async end(): Promise<void> {
    this.#isEnding = true
    this.#worker.ref()
    void this.give({ end: true })
    await this.#ended.promise
  }

  #answered(answer: Answer): void {
    const { number } = answer
    this.#waiting.get(number)?.(answer)
    this.#waiting.delete(number)
    if (this.#waiting.size === 0) this.#port.unref()
  }

  #lost(error: Error): void {
    this.#isLost = true
    this.#ended.resolve()
    this.#port.close()
    for (const resolve of this.#waiting.values()) resolve()
    this.#waiting.clear()
    if (!this.#isEnding) this.#options.onLost(error)
    this.#isEnding = true
  }
}
