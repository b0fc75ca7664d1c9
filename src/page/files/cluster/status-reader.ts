import type { ClusterApi } from '../data/cluster-api.ts'
import type { Store } from '../data/store.ts'
import { LateError, within } from '../data/within.ts'
import { answered, failed, type NodeReadings } from '../nodes/node-reading.ts'
import { failureOf } from './failure-of.ts'
import { ReadingsWriter } from './readings-writer.ts'

/** Who takes longer is read apart from the others. */
const PROMPT_MS = 2_000
/** Connecting alone may take orch-server five seconds. */
const TIMEOUT_MS = 15_000
/** One that failed is read again after 4 s, 8 s … a minute. */
const [RETRY_MS, MAX_RETRY_MS] = [2_000, 60_000]

/** Reads the statuses of nodes, and knows which of them do not answer promptly. */
export class StatusReader {
  readonly #api: ClusterApi
  readonly #writer: ReadingsWriter
  readonly #signal: AbortSignal
  readonly #slow = new Set<string>()
  readonly #failedAt = new Map<string, number>()

  constructor(api: ClusterApi, readings: Store<NodeReadings>, signal: AbortSignal) {
    this.#api = api
    this.#writer = new ReadingsWriter(readings)
    this.#signal = signal
  }

  /** Whether the last request failed, or took too long. */
  isSilent(name: string): boolean {
    return this.#slow.has(name) || this.#writer.get(name)?.failure !== undefined
  }

  /** Whether a node that is silent is to be read again. */
  isDue(name: string): boolean {
    if (!this.isSilent(name)) return false
    const { failures = 0 } = this.#writer.get(name) ?? {}
    const wait = failures === 0 ? 0 : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures)
    return performance.now() >= (this.#failedAt.get(name) ?? 0) + wait
  }

  /** Reads a node, and gives up early: whether it fails is found out by `readSilent`. */
  async read(name: string): Promise<void> {
    try {
      await this.#status(name, PROMPT_MS)
    } catch (error) {
      if (error instanceof LateError) this.#slow.add(name)
      else this.#fail(name, error)
    }
  }

  async readSilent(name: string): Promise<void> {
    try {
      await this.#status(name, TIMEOUT_MS)
    } catch (error) {
      this.#fail(name, error)
    }
    this.#slow.delete(name)
  }

  async #status(name: string, timeoutMs: number): Promise<void> {
    const node = this.#api.node(name)
    const answer = await within(timeoutMs, this.#signal, (signal) => node.status(signal))
    this.#writer.put(name, answered(this.#writer.get(name), answer))
  }

  #fail(name: string, error: unknown): void {
    if (this.#signal.aborted) return
    this.#failedAt.set(name, performance.now())
    this.#writer.put(name, failed(this.#writer.get(name), failureOf(error)))
  }
}
