import type { Answer } from 'dns-packet'

/** A question for another server. */
export interface ForwardQuestion {
  /** Lower case, without the final dot. */
  readonly name: string
  readonly type: number
  readonly dnssecOk: boolean
  readonly checkingDisabled: boolean
}

/** What another server answered. */
export interface ForwardedAnswer {
  readonly rcode: number
  readonly isAuthentic: boolean
  readonly answers: readonly Answer[]
  readonly authorities: readonly Answer[]
}

/** A client of other DNS servers. */
export interface Recursion {
  /** Undefined: no server answered. Never rejects. */
  resolve(question: ForwardQuestion): Promise<ForwardedAnswer | undefined>
}
