import type { Compare } from '../../store.ts'

/** What the writer thread is started with. */
export interface WriterSetup {
  readonly file: string
  /** Milliseconds since the Unix epoch. */
  readonly now: number
}

/** A `Transaction` between threads, whose values are plain bytes. */
export interface PlainTransaction {
  readonly compare: readonly Compare[]
  readonly operations: readonly PlainOperation[]
}

/** An `Operation` whose value is plain bytes. */
export type PlainOperation =
  | { readonly op: 'put'; readonly key: string; readonly value: Uint8Array }
  | { readonly op: 'delete'; readonly key: string }

/** A command to the writer thread, which is sent when the one before it was answered. */
export type WriterCommand =
  | { readonly do: 'commit'; readonly group: readonly PlainTransaction[] }
  | { readonly do: 'compact'; readonly revision: number }
  | { readonly do: 'close' }

export interface TransactionOutcome {
  /** False: a comparison failed. */
  readonly committed: boolean
  /** The newest revision after the transaction. */
  readonly revision: number
}

/** A NodeProxyError between threads, which do not keep classes. */
export interface WriterFailure {
  /** Undefined: the error had none. */
  readonly code: string | undefined
  readonly message: string
  readonly hint: string | undefined
}

/** The reply to one command: an outcome for each transaction of a commit, none for other commands. */
export type WriterReply =
  | { readonly outcomes: readonly TransactionOutcome[]; readonly failure?: never }
  | { readonly failure: WriterFailure; readonly outcomes?: never }
