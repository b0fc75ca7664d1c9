import type { EntryMessage } from '../data/messages.ts'
import { type BackendRow, backendRows } from '../services/service-entries.ts'
import type { ReadService } from './node-service.ts'
import { worstStatus } from './worst-status.ts'

/** One Service port on all nodes. */
export interface EntryOverNodes {
  /** As one node has it. */
  readonly entry: EntryMessage
  /** Of all nodes, the worst. */
  readonly status: string
  /** Each backend with the sum of what nodes sent to it. */
  readonly rows: readonly BackendRow[]
}

/** The entries of a Service over the nodes that were read, sorted by id. */
export function sumEntries(services: readonly ReadService[]): readonly EntryOverNodes[] {
  const all = services.flatMap(({ entries, samples }) =>
    entries.map((entry) => ({ entry, rows: backendRows(entry, samples) })),
  )
  const byId = Map.groupBy(all, ({ entry }) => entry.id)
  const ids = [...byId.keys()].toSorted()
  return ids.flatMap((id) => {
    const found = byId.get(id) ?? []
    const [first] = found
    if (first === undefined) return []
    const status = worstStatus(found.map(({ entry }) => entry.status ?? ''))
    return [{ entry: first.entry, status, rows: sumRows(found.map(({ rows }) => rows)) }]
  })
}

/** Backends by address; each has what all nodes sent to it. */
function sumRows(nodes: readonly (readonly BackendRow[])[]): readonly BackendRow[] {
  const byAddress = Map.groupBy(nodes.flat(), ({ address }) => address)
  const sums = [...byAddress.values()].flatMap((rows) => sumRow(rows, nodes.length))
  const total = sumOf(sums.map(({ connections }) => connections)) ?? 0
  return sums.map((row) => ({
    ...row,
    share: total === 0 || row.connections === undefined ? undefined : row.connections / total,
  }))
}

function sumRow(rows: readonly BackendRow[], nodes: number): readonly BackendRow[] {
  const [first] = rows
  if (first === undefined) return []
  const isEverywhere = rows.length === nodes
  const marks = [
    ...(rows.some((row) => row.marks.includes('drains')) ? ['drains'] : []),
    ...(isEverywhere ? [] : [`on ${rows.length} of ${nodes} nodes`]),
  ]
  return [{ ...first, marks, share: undefined, ...sumTraffic(rows) }]
}

type Traffic = Pick<BackendRow, 'connections' | 'connectionsPerSecond' | 'bytes' | 'bytesPerSecond'>

/** What went to several backends, or from several nodes to one. */
export function sumTraffic(rows: readonly Traffic[]): Traffic {
  return {
    connections: sumOf(rows.map(({ connections }) => connections)),
    connectionsPerSecond: sumOf(rows.map((row) => row.connectionsPerSecond)),
    bytes: sumOf(rows.map(({ bytes }) => bytes)),
    bytesPerSecond: sumOf(rows.map(({ bytesPerSecond }) => bytesPerSecond)),
  }
}

/** Without what is not known; undefined: nothing is. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0)
}
