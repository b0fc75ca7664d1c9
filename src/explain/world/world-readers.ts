import type { TableSummary } from '../../kernel/nftables/list-tables.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { IpvsSnapshot } from '../ipvs-functions.ts'
import type { LookUpElement } from '../nftables/look-up.ts'

/** Reads everything needed about the kernel in one network namespace, live or from a recording. */
export interface WorldReaders {
  readonly run: RunCommand
  /** Virtual servers; undefined if the kernel has no IPVS, or it is not loaded. */
  readIpvs(): Promise<IpvsSnapshot | undefined>
  /** The names of all tables of nf_tables; absent if only `nft` can list them. */
  nftTables?(): Promise<readonly TableSummary[]>
  /** Reads one element of a set of nf_tables; absent if all elements are listed. */
  readonly lookUpElement?: LookUpElement
}
