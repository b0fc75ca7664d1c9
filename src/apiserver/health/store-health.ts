import type { Clock } from '../../lib/clock.ts'
import type { Store, Transaction, TxnResult } from '../../storage/store.ts'
import { storeFailure } from '../status/store-failure.ts'

/** Milliseconds within which the store must return its newest revision. */
const ANSWER_MS = 1000

/** Milliseconds between two attempts to write, after a write failed. */
const PROBE_MS = 5000

/** The probe that finds out whether writing works again. Its key is not that of an object. */
const PROBE: Transaction = {
  compare: [],
  operations: [{ op: 'put', key: '/probe/write', value: Buffer.from('{}') }],
}

/**
 * Whether the store can be read and written, by its last answers to any caller. After a failed write it writes
 * a probe until one succeeds, because it may take long until the next other write.
 */
export class StoreHealth {
  /** The store to use in place of the original one: its answers are recorded. */
  readonly store: Store
  readonly #clock: Clock
  readonly #inner: Store
  #readFault: string | undefined
  #writeFault: string | undefined
  #pending: Promise<number | undefined> | undefined
  #cancelProbe: (() => void) | undefined
  #isStopped = false

  constructor(store: Store, clock: Clock) {
    this.#inner = store
    this.#clock = clock
    this.store = {
      revision: () => this.#read(store.revision()),
      get: (key) => this.#read(store.get(key)),
      list: (query) => this.#read(store.list(query)),
      txn: (transaction) => this.#write(transaction),
      watch: (query) => store.watch(query),
      compact: (revision) => store.compact(revision),
      close: () => store.close(),
    }
  }

  /** Why the last read failed. */
  get readFault(): string | undefined {
    return this.#readFault
  }

  /** Why the last write failed. */
  get writeFault(): string | undefined {
    return this.#writeFault
  }

  /**
   * The newest revision; undefined when the store cannot be read. It returns at once if the last read has
   * already failed; concurrent calls share one call to the store.
   */
  async newest(): Promise<number | undefined> {
    this.#pending ??= this.#revision()
    if (this.#readFault !== undefined) return undefined
    const isLate = Promise.withResolvers<undefined>()
    const cancel = this.#clock.after(ANSWER_MS, () => {
      this.#readFault ??= 'the store does not answer'
      isLate.resolve(undefined)
    })
    const newest = await Promise.race([this.#pending, isLate.promise])
    cancel()
    return newest
  }

  /** Stops the probes. */
  stop(): void {
    this.#isStopped = true
    this.#cancelProbe?.()
  }

  async #revision(): Promise<number | undefined> {
    const newest = await this.store.revision().catch(() => undefined)
    this.#pending = undefined
    return newest
  }

  async #read<T>(answer: Promise<T>): Promise<T> {
    try {
      const value = await answer
      this.#readFault = undefined
      return value
    } catch (error) {
      this.#readFault = storeFailure(error)?.cause ?? 'the store failed'
      throw error
    }
  }

  async #write(transaction: Transaction): Promise<TxnResult> {
    try {
      const result = await this.#inner.txn(transaction)
      if (result.committed && puts(transaction)) this.#writeFault = undefined
      return result
    } catch (error) {
      this.#writeFault = storeFailure(error)?.cause ?? this.#writeFault
      if (this.#writeFault !== undefined) this.#probeLater()
      throw error
    }
  }

  #probeLater(): void {
    if (this.#isStopped) return
    this.#cancelProbe ??= this.#clock.after(PROBE_MS, () => {
      void this.#probe().catch(() => undefined)
    })
  }

  async #probe(): Promise<void> {
    this.#cancelProbe = undefined
    if (this.#writeFault !== undefined) await this.#write(PROBE)
  }
}

/** Whether a transaction puts anything. One that only deletes may write nothing, and proves nothing. */
function puts({ operations }: Transaction): boolean {
  return operations.some(({ op }) => op === 'put')
}
