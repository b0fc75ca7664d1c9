import type { Cluster } from '../cluster/cluster.ts'
import type { Repeats } from '../repeats.ts'
import type { IpvsCell, IpvsMeasured } from '../report/ipvs/results.ts'

/** What is used to measure the figures of one size. */
export interface IpvsCellParts {
  readonly cluster: Cluster
  readonly folder: string
  readonly repeats: Repeats
  readonly log: (what: string) => void
  readonly freshSerial: () => number
  readonly freshAddress: () => number
  /** Called after each new figure, so that an interrupted run keeps its figures. */
  readonly save: (cell: IpvsCell) => void
}

/** The figures of one size that were measured so far. */
export type IpvsDraft = { -readonly [Key in keyof IpvsMeasured]?: IpvsMeasured[Key] }
