import { setImmediate } from 'node:timers/promises'
import { NodeProxyError } from '../../lib/error.ts'
import { Mutex } from '../../lib/mutex.ts'
import type { Transaction } from '../store.ts'
import type { PlainTransaction, TransactionOutcome, WriterOrder } from './writer-messages.ts'
import type { WriterThread } from './writer-thread.ts'

/** Transactions that share one flush to the disk, at most. */
const GROUP = 256

/** Revisions that are forgotten at once, so that writers wait only briefly. */
const SLICE = 1000

/** After these the file is as it was: the next transaction may succeed. */
const withoutEffect: ReadonlySet<string> = new Set([
  'NP_STORAGE_FULL',
  'NP_STORAGE_LOCKED',
  'NP_STORAGE_READ_ONLY',
])

/** What the rest of the store learns from the writer. */
export interface CommitListener {
  /** This revision and all before it are on the disk. */
  committed(newest: number): void
  /** What the file holds is unknown: nothing may be answered from now on. */
  failed(error: Error): void
}

interface Waiting {
  readonly transaction: Transaction
  readonly resolve: (outcome: TransactionOutcome) => void
  readonly reject: (error: unknown) => void
}

/**
 * Passes transactions to the writer thread in groups: whatever arrives in one
 * turn of the event loop, or while the disk is busy with the group before, is
 * flushed together. So a flush costs each of many writers only a share.
 */
export class GroupCommit {
  readonly #writer: WriterThread
  readonly #listener: CommitListener
  readonly #turns = new Mutex()
  #waiting: Waiting[] = []
  #work: Promise<void> | undefined
  #refusal: Error | undefined

  constructor(writer: WriterThread, listener: CommitListener) {
    this.#writer = writer
    this.#listener = listener
  }

  /** Resolves when the transaction is on the disk, or was found not to apply. */
  commit(transaction: Transaction): Promise<TransactionOutcome> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ transaction, resolve, reject })
      this.#work ??= this.#commitAll()
    })
  }

  /** Forgets the history of `oldest` < revision ≤ `upTo`, in turns with commits. */
  async compact(oldest: number, upTo: number): Promise<void> {
    for (let at = oldest; at < upTo; ) {
      at = Math.min(at + SLICE, upTo)
      const order = { do: 'compact', revision: at } as const
      await this.#turns.run(() => this.#compactSlice(order))
    }
  }

  /** Refuses everything from now on, also what waits. */
  fail(error: Error): void {
    this.#refusal = error
    this.#listener.failed(error)
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  /** Takes nothing more; resolves when all that was waiting is committed. */
  async close(): Promise<void> {
    this.#refusal ??= new NodeProxyError('NP_STORAGE_CLOSED', 'the store is closed')
    await this.#work
    await this.#turns.run(async () => undefined)
  }

  async #compactSlice(order: WriterOrder): Promise<void> {
    if (this.#refusal !== undefined) throw this.#refusal
    try {
      await this.#writer.obey(order)
    } catch (error) {
      this.#refuseAll(error)
      throw error
    }
  }

  async #commitAll(): Promise<void> {
    await setImmediate()
    while (this.#waiting.length > 0) await this.#turns.run(() => this.#commitGroup())
    this.#work = undefined
  }

  async #commitGroup(): Promise<void> {
    const group = this.#waiting.splice(0, GROUP)
    if (group.length === 0) return
    try {
      const plain = group.map(({ transaction }) => plainOf(transaction))
      const outcomes = await this.#writer.obey({ do: 'commit', group: plain })
      this.#listener.committed(outcomes.at(-1)!.revision)
      for (const [index, { resolve }] of group.entries()) resolve(outcomes[index]!)
    } catch (error) {
      this.#refuse(group, error)
    }
  }

  #refuse(group: readonly Waiting[], error: unknown): void {
    for (const { reject } of group) reject(error)
    this.#refuseAll(error)
  }

  /** From now on, unless the file is as it was before the error. */
  #refuseAll(error: unknown): void {
    if (error instanceof NodeProxyError && withoutEffect.has(error.code)) return
    this.fail(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Copies the values: a Buffer may be a view of a pool that would be sent as a whole. */
function plainOf({ compare, operations }: Transaction): PlainTransaction {
  return {
    compare,
    operations: operations.map((operation) =>
      operation.op === 'put' ? { ...operation, value: new Uint8Array(operation.value) } : operation,
    ),
  }
}
