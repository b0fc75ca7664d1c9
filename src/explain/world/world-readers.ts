import type { TableSummary } from '../../kernel/nftables/list-tables.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { IpvsSnapshot } from '../ipvs-snapshot.ts'
import type { LookUpElement } from '../nftables/look-up.ts'

/** Everything that is read of the kernel, in one network namespace: live, or recorded earlier. */
export interface WorldReaders {
  readonly run: RunCommand
  /** Virtual servers; undefined: the kernel has no IPVS, or it is not loaded. */
  readIpvs(): Promise<IpvsSnapshot | undefined>
  /** The names of all tables of nf_tables; absent: only `nft` knows them. */
  nftTables?(): Promise<readonly TableSummary[]>
  /** Reads one element of a set of nf_tables; absent: all are listed. */
  readonly lookUpElement?: LookUpElement
}
