import type { Waits } from '../../report/nftables/results.ts'

/** The operation that is repeated. */
export type GaugeName = keyof Waits

/** What a gauge receives, one JSON per line on its standard input. */
export type StallOrder =
  /** Begins in these namespaces, and continues until the process ends. */
  | {
      readonly what: 'start'
      readonly gauge: GaugeName
      readonly node: string
      readonly client: string
      readonly backends: string
    }
  | { readonly what: 'take' }

/** Its answers, one JSON per line. */
export interface StallReports {
  readonly start: object
  /** Milliseconds of each since the last order. */
  readonly take: { readonly ms: readonly number[] }
}
