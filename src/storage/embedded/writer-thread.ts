import { Worker } from 'node:worker_threads'
import { NodeProxyError } from '../../lib/error.ts'
import type {
  TransactionOutcome,
  WriterAnswer,
  WriterFailure,
  WriterOrder,
  WriterSetup,
} from './writer-messages.ts'

/** The writer holds one group of transactions at a time; a small nursery keeps its memory small. */
const HEAP = { maxYoungGenerationSizeMb: 8 } as const

/** Runs one order at a time; rejects with a NodeProxyError. */
export interface WriterThread {
  obey(order: WriterOrder): Promise<readonly TransactionOutcome[]>
  /** Closes the file, if it still can, and ends the thread. */
  end(): Promise<void>
}

/** Starts the thread that owns the writing connection; resolves when the file is open. */
export async function startWriter(setup: WriterSetup): Promise<WriterThread> {
  const writer = new Writer(setup)
  try {
    await writer.answer()
    return writer
  } catch (error) {
    await writer.end()
    throw error
  }
}

class Writer implements WriterThread {
  readonly #file: string
  readonly #worker: Worker
  #waiting: PromiseWithResolvers<readonly TransactionOutcome[]> | undefined
  #lost: NodeProxyError | undefined

  constructor(setup: WriterSetup) {
    this.#file = setup.file
    this.#worker = new Worker(new URL('./writer-main.ts', import.meta.url), {
      workerData: setup,
      resourceLimits: HEAP,
    })
    this.#worker.on('message', (message: WriterAnswer) => this.#answered(message))
    this.#worker.on('error', (cause) => this.#lose(cause))
    this.#worker.on('exit', (status) => this.#lose(`it ended with ${status}`))
  }

  obey(order: WriterOrder): Promise<readonly TransactionOutcome[]> {
    this.#worker.postMessage(order)
    return this.answer()
  }

  /** The next answer; while none is awaited, the thread does not keep the process alive. */
  answer(): Promise<readonly TransactionOutcome[]> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    this.#worker.ref()
    this.#waiting = Promise.withResolvers()
    return this.#waiting.promise
  }

  async end(): Promise<void> {
    await this.obey({ do: 'close' }).catch(() => undefined)
    await this.#worker.terminate()
  }

  #answered({ failure, outcomes }: WriterAnswer): void {
    this.#worker.unref()
    if (failure === undefined) this.#waiting?.resolve(outcomes)
    else this.#waiting?.reject(errorOf(failure, this.#file))
  }

  #lose(cause: unknown): void {
    this.#lost ??= threadLost(this.#file, cause)
    this.#waiting?.reject(this.#lost)
  }
}

function errorOf(failure: WriterFailure, file: string): NodeProxyError {
  const { code, message, hint } = failure
  if (code === undefined) return threadLost(file, message)
  return new NodeProxyError(code, message, {
    object: file,
    ...(hint === undefined ? {} : { hint }),
  })
}

function threadLost(file: string, cause: unknown): NodeProxyError {
  return new NodeProxyError('NP_STORAGE_WRITER', `the writer thread failed: ${String(cause)}`, {
    object: file,
    hint: 'start the server again; what was acknowledged is on the disk',
    cause,
  })
}
