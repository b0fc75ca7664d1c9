import type { Clock } from '../../lib/clock.ts'
import type { Store, Transaction, TxnResult } from '../../storage/store.ts'
import { storeTrouble } from '../persist/store-failure.ts'

/** How long the store has to tell its newest revision. */
const ANSWER_MS = 1000

/** Between two attempts to write, once writing failed. */
const PROBE_MS = 5000

/** No object: written only to learn whether writing works again. */
const PROBE: Transaction = {
  compare: [],
  operations: [{ op: 'put', key: '/probe/write', value: Buffer.from('{}') }],
}

/**
 * Whether the store can be read and written, by what it answered last to anybody.
 * Nobody else may write for long: after a write that failed it tries by itself,
 * until the store takes one.
 */
export class StoreHealth {
  /** The same store; what it answers is noticed. */
  readonly store: Store
  readonly #clock: Clock
  readonly #asked: Store
  #readFault: string | undefined
  #writeFault: string | undefined
  #question: Promise<number | undefined> | undefined
  #cancelProbe: (() => void) | undefined
  #isStopped = false

  constructor(store: Store, clock: Clock) {
    this.#asked = store
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
   * The newest revision; undefined when the store cannot be read. That is answered at once
   * if it is known already, and while an earlier question waits: another is asked meanwhile.
   */
  async newest(): Promise<number | undefined> {
    this.#question ??= this.#ask()
    if (this.#readFault !== undefined) return undefined
    const isLate = Promise.withResolvers<undefined>()
    const cancel = this.#clock.after(ANSWER_MS, () => {
      this.#readFault ??= 'the store does not answer'
      isLate.resolve(undefined)
    })
    const newest = await Promise.race([this.#question, isLate.promise])
    cancel()
    return newest
  }

  /** Tries no more. */
  stop(): void {
    this.#isStopped = true
    this.#cancelProbe?.()
  }

  async #ask(): Promise<number | undefined> {
    const newest = await this.store.revision().catch(() => undefined)
    this.#question = undefined
    return newest
  }

  async #read<T>(answer: Promise<T>): Promise<T> {
    try {
      const value = await answer
      this.#readFault = undefined
      return value
    } catch (error) {
      this.#readFault = storeTrouble(error)?.matter ?? 'the store failed'
      throw error
    }
  }

  async #write(transaction: Transaction): Promise<TxnResult> {
    try {
      const result = await this.#asked.txn(transaction)
      if (result.committed && puts(transaction)) this.#writeFault = undefined
      return result
    } catch (error) {
      this.#writeFault = storeTrouble(error)?.matter ?? this.#writeFault
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

/** Deletions may find nothing to delete, and then nothing is written. */
function puts({ operations }: Transaction): boolean {
  return operations.some(({ op }) => op === 'put')
}
