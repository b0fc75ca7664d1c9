import type { Compare } from '../store.ts'

/** What the writer thread is started with. */
export interface WriterSetup {
  readonly file: string
  /** Milliseconds since the Unix epoch. */
  readonly now: number
}

/** A `Transaction` whose values have become plain bytes on their way between threads. */
export interface PlainTransaction {
  readonly compare: readonly Compare[]
  readonly operations: readonly PlainOperation[]
}

export type PlainOperation =
  | { readonly op: 'put'; readonly key: string; readonly value: Uint8Array }
  | { readonly op: 'delete'; readonly key: string }

/** One thing to do; the next is sent when it was answered. */
export type WriterOrder =
  | { readonly do: 'commit'; readonly group: readonly PlainTransaction[] }
  | { readonly do: 'compact'; readonly revision: number }
  | { readonly do: 'close' }

/** What became of one transaction, and the newest revision after it. */
export interface TransactionOutcome {
  readonly committed: boolean
  readonly revision: number
}

/** An error on its way between threads, which keeps no classes. */
export interface WriterFailure {
  readonly code: string | undefined
  readonly message: string
  readonly hint: string | undefined
}

export type WriterAnswer =
  | { readonly outcomes: readonly TransactionOutcome[]; readonly failure?: never }
  | { readonly failure: WriterFailure; readonly outcomes?: never }
