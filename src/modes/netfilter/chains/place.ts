import type { Family } from '../../../lib/ip.ts'

/** The tables of iptables that modes write. */
export type Table = 'mangle' | 'nat' | 'filter'

/** A chain of one family's table, ours or a built-in one. */
export interface ChainLocation {
  readonly family: Family
  readonly table: Table
  readonly chain: string
}

/** The built-in chains of each table. */
export const BUILT_IN: Readonly<Record<Table, readonly string[]>> = {
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
}
