import type { Cluster } from '../cluster/cluster.ts'
import type { Repeats } from '../repeats.ts'
import type { NftablesCell, NftablesMeasured } from '../report/nftables/results.ts'

/** What is used to measure the figures of one size. */
export interface NftablesCellParts {
  readonly cluster: Cluster
  readonly folder: string
  readonly repeats: Repeats
  readonly log: (what: string) => void
  readonly freshSerial: () => number
  readonly freshAddress: () => number
  /** Called after each new figure, so that an interrupted run keeps its figures. */
  readonly save: (cell: NftablesCell) => void
}

/** The figures of one size that were measured so far. */
export type NftablesDraft = { -readonly [Key in keyof NftablesMeasured]?: NftablesMeasured[Key] }
