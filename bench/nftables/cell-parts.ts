import type { Cluster } from '../cluster/cluster.ts'
import type { Repeats } from '../repeats.ts'
import type { NftablesCell, NftablesMeasured } from '../report/nftables/results.ts'

/** What the figures of one size are measured with. */
export interface NftablesCellParts {
  readonly cluster: Cluster
  readonly folder: string
  readonly repeats: Repeats
  readonly log: (what: string) => void
  readonly freshSerial: () => number
  readonly freshAddress: () => number
  /** Called whenever there is more; what is interrupted leaves what was there. */
  readonly save: (cell: NftablesCell) => void
}

/** The figures of one size as they come in. */
export type NftablesDraft = { -readonly [Key in keyof NftablesMeasured]?: NftablesMeasured[Key] }
