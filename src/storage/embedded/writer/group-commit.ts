import { setImmediate } from 'node:timers/promises'
import { NodeProxyError } from '../../../lib/error.ts'
import { Mutex } from '../../../lib/mutex.ts'
import type { Transaction } from '../../store.ts'
import type { PlainTransaction, TransactionOutcome, WriterCommand } from './writer-messages.ts'
import type { WriterThread } from './writer-thread.ts'

/** How many transactions share one flush to the disk. */
const MAX_GROUP = 256

/** How many revisions one step of a compaction removes, so that commits wait only briefly. */
const MAX_REVISIONS_PER_STEP = 1000

/** Errors that left the file unchanged: the next transaction may succeed. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'NP_STORAGE_FULL',
  'NP_STORAGE_LOCKED',
  'NP_STORAGE_READ_ONLY',
])

/** Receives the results of the writer. */
export interface CommitListener {
  /** All revisions up to this one are on the disk. */
  committed(newest: number): void
  /** The content of the file is unknown: from now on every request must fail. */
  failed(error: Error): void
}

interface Waiting {
  readonly transaction: Transaction
  readonly resolve: (outcome: TransactionOutcome) => void
  readonly reject: (error: unknown) => void
}

/**
 * Sends transactions to the writer thread in groups: those that arrive in one
 * turn of the event loop, or while the disk is busy with the previous group, share
 * one flush.
 */
export class GroupCommit {
  readonly #writer: WriterThread
  readonly #listener: CommitListener
  readonly #turns = new Mutex()
  #waiting: Waiting[] = []
  #work: Promise<void> | undefined
  #failure: Error | undefined

  constructor(writer: WriterThread, listener: CommitListener) {
    this.#writer = writer
    this.#listener = listener
  }

  /**
   * Resolves when the transaction is on the disk, or one of its comparisons failed.
   * @throws NP_STORAGE_CLOSED, and the errors of `WriterThread`
   */
  commit(transaction: Transaction): Promise<TransactionOutcome> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ transaction, resolve, reject })
      this.#work ??= this.#commitAll()
    })
  }

  /** Removes the history of `oldest` < revision ≤ `upTo`, in steps between which commits run. @throws as `commit` */
  async compact(oldest: number, upTo: number): Promise<void> {
    for (let at = oldest; at < upTo; ) {
      at = Math.min(at + MAX_REVISIONS_PER_STEP, upTo)
      const command = { do: 'compact', revision: at } as const
      await this.#turns.run(() => this.#compactStep(command))
    }
  }

  /** Rejects every waiting and every later transaction. */
  fail(error: Error): void {
    this.#failure = error
    this.#listener.failed(error)
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  /** Rejects later transactions; resolves when the waiting ones are committed. */
  async close(): Promise<void> {
    this.#failure ??= new NodeProxyError('NP_STORAGE_CLOSED', 'the store is closed')
    await this.#work
    await this.#turns.run(async () => undefined)
  }

  async #compactStep(command: WriterCommand): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    try {
      await this.#writer.execute(command)
    } catch (error) {
      this.#endUnlessHarmless(error)
      throw error
    }
  }

  async #commitAll(): Promise<void> {
    await setImmediate()
    while (this.#waiting.length > 0) await this.#turns.run(() => this.#commitGroup())
    this.#work = undefined
  }

  async #commitGroup(): Promise<void> {
    const group = this.#waiting.splice(0, MAX_GROUP)
    if (group.length === 0) return
    try {
      const plain = group.map(({ transaction }) => plainOf(transaction))
      const outcomes = await this.#writer.execute({ do: 'commit', group: plain })
      this.#listener.committed(outcomes.at(-1)!.revision)
      for (const [index, { resolve }] of group.entries()) resolve(outcomes[index]!)
    } catch (error) {
      this.#rejectGroup(group, error)
    }
  }

  #rejectGroup(group: readonly Waiting[], error: unknown): void {
    for (const { reject } of group) reject(error)
    this.#endUnlessHarmless(error)
  }

  /** Ends the store, unless the error had no effect on the file. */
  #endUnlessHarmless(error: unknown): void {
    if (error instanceof NodeProxyError && WITHOUT_EFFECT.has(error.code)) return
    this.fail(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Copies the values: a Buffer may be a view of a larger pool, and the whole pool would be sent to the thread. */
function plainOf({ compare, operations }: Transaction): PlainTransaction {
  return {
    compare,
    operations: operations.map((operation) =>
      operation.op === 'put' ? { ...operation, value: new Uint8Array(operation.value) } : operation,
    ),
  }
}
