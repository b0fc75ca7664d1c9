import { backendRows } from '../services/service-entries.ts'
import type { NodeService } from './node-service.ts'
import { sumTraffic } from './sum-entries.ts'
import { worstStatus } from './worst-status.ts'

/** One node in the table of a Service. */
export interface NodeServiceRow {
  readonly node: string
  /** The worst of its ports; empty: none, or not read. */
  readonly status: string
  /** Undefined: not read. */
  readonly ports: number | undefined
  readonly backends: number | undefined
  readonly connections: number | undefined
  readonly connectionsPerSecond: number | undefined
  readonly bytesPerSecond: number | undefined
  /** Where it differs from most nodes, or why it cannot be read. */
  readonly remarks: readonly string[]
  readonly isRead: boolean
}

/** A row for each node: those that cannot be read first, then those that differ. */
export function nodeServiceRows(
  services: readonly NodeService[],
  differences: ReadonlyMap<string, readonly string[]>,
): readonly NodeServiceRow[] {
  const rows = services.map((one) => rowOf(one, differences.get(one.node) ?? []))
  return rows.toSorted((a, b) => rank(a) - rank(b))
}

function rank({ isRead, remarks }: NodeServiceRow): number {
  if (!isRead && remarks.length > 0) return 0
  return remarks.length > 0 ? 1 : 2
}

function rowOf(
  { node, entries, samples, failure }: NodeService,
  differences: readonly string[],
): NodeServiceRow {
  const isRead = entries !== undefined && failure === ''
  const rows = entries?.flatMap((entry) => backendRows(entry, samples)) ?? []
  return {
    ...{ node, isRead, ...sumTraffic(isRead ? rows : []) },
    status: isRead ? worstStatus(entries.map((entry) => entry.status ?? '')) : '',
    ports: isRead ? entries.length : undefined,
    backends: isRead ? rows.length : undefined,
    remarks: failure === '' ? differences : [failure],
  }
}
