import type { Cluster } from '../cluster/cluster.ts'
import type { Repeats } from '../repeats.ts'
import type { IpvsCell, IpvsMeasured } from '../report/ipvs/results.ts'

/** What the figures of one size are measured with. */
export interface IpvsCellParts {
  readonly cluster: Cluster
  readonly folder: string
  readonly repeats: Repeats
  readonly log: (what: string) => void
  readonly freshSerial: () => number
  readonly freshAddress: () => number
  /** Called whenever there is more; what is interrupted leaves what was there. */
  readonly save: (cell: IpvsCell) => void
}

/** The figures of one size as they come in. */
export type IpvsDraft = { -readonly [Key in keyof IpvsMeasured]?: IpvsMeasured[Key] }
