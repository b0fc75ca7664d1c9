import { Worker } from 'node:worker_threads'
import { NodeProxyError } from '../../../lib/error.ts'
import type {
  TransactionOutcome,
  WriterCommand,
  WriterFailure,
  WriterReply,
  WriterSetup,
} from './writer-messages.ts'

/** The writer holds one group of transactions at a time, so a small young generation is enough. */
const HEAP = { maxYoungGenerationSizeMb: 8 } as const

/** The thread that owns the only writing connection. */
export interface WriterThread {
  /**
   * Runs a command; the caller awaits it before the next one.
   * @throws NP_STORAGE_WRITER when the thread failed; NP_STORAGE_GONE, and the errors of SQLite
   */
  execute(command: WriterCommand): Promise<readonly TransactionOutcome[]>
  /** Closes the file, if the thread still can, and ends the thread. */
  end(): Promise<void>
}

/** Starts the thread; resolves when it has opened the file. @throws as `openForWriting`, and NP_STORAGE_WRITER */
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
    this.#worker.on('message', (message: WriterReply) => this.#answered(message))
    this.#worker.on('error', (cause) => this.#lose(cause))
    this.#worker.on('exit', (status) => this.#lose(`it ended with ${status}`))
  }

  execute(command: WriterCommand): Promise<readonly TransactionOutcome[]> {
    this.#worker.postMessage(command)
    return this.answer()
  }

  /** The next reply. While none is awaited, the thread does not keep the process alive. */
  answer(): Promise<readonly TransactionOutcome[]> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    this.#worker.ref()
    this.#waiting = Promise.withResolvers()
    return this.#waiting.promise
  }

  async end(): Promise<void> {
    await this.execute({ do: 'close' }).catch(() => undefined)
    await this.#worker.terminate()
  }

  #answered({ failure, outcomes }: WriterReply): void {
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
