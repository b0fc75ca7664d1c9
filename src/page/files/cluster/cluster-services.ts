import type { EntryMessage, ServiceMessage } from '../data/node-api.ts'
import { type RowRules, type Selection, selectRows } from '../display/selection.ts'
import { isProblem } from '../node/services.ts'
import type { TrafficSample } from '../node/traffic-rates.ts'
import type { NodeReadings } from './node-reading.ts'

/** One Service of the cluster. */
export interface ClusterServiceRow {
  /** namespace/name */
  readonly service: string
  /** The worst status that the list or the status of a node reports. */
  readonly status: string
  readonly problem: string
  readonly entries: number
  readonly backends: number
  /** The number of nodes that report a problem of the Service. */
  readonly nodes: number
}

export type ClusterServiceKey = 'service' | 'status' | 'nodes' | 'entries' | 'backends'

export const ALL_CLUSTER_SERVICES: Selection<ClusterServiceKey> = {
  text: '',
  onlyProblems: false,
  sort: 'service',
  isDescending: false,
}

/** Columns that hold words. */
export const CLUSTER_TEXTS: ReadonlySet<string> = new Set<ClusterServiceKey>(['service', 'status'])

const RULES: RowRules<ClusterServiceRow, ClusterServiceKey> = {
  values: {
    service: ({ service }) => service,
    status: ({ status }) => status,
    nodes: ({ nodes }) => nodes,
    entries: ({ entries }) => entries,
    backends: ({ backends }) => backends,
  },
  textOf: ({ service, status, problem }) => `${service} ${status} ${problem}`,
  isProblem,
}

/** The Services that a selection shows. */
export function selectClusterServices(
  rows: readonly ClusterServiceRow[],
  selection: Selection<ClusterServiceKey>,
): readonly ClusterServiceRow[] {
  return selectRows(rows, selection, RULES)
}

/** The rows of a list that one node answered, with what the statuses of all nodes report. */
export function clusterServiceRows(
  services: readonly ServiceMessage[],
  readings: NodeReadings,
): readonly ClusterServiceRow[] {
  const reports = reportsOf(readings)
  return services.map(({ service, status = '', problem, entries = 0, backends = 0 }) => {
    const found = reports.get(service) ?? []
    const statuses = [status, ...found.map((report) => report.status)]
    return {
      service,
      entries,
      backends,
      status: worstStatus(statuses) || status,
      problem: problem?.message ?? found[0]?.words ?? '',
      nodes: new Set(found.map(({ node }) => node)).size,
    }
  })
}

interface Report {
  readonly node: string
  readonly status: string
  readonly words: string
}

/** What nodes report of Services, by namespace/name: conflicts, and what their kernels refuse. */
function reportsOf(readings: NodeReadings): ReadonlyMap<string, readonly Report[]> {
  const reports = new Map<string, Report[]>()
  const add = (entry: string, report: Report): void => {
    const service = entry.split(':', 1)[0] ?? ''
    const found = reports.get(service)
    if (found === undefined) reports.set(service, [report])
    else found.push(report)
  }
  for (const [node, { status, failure }] of readings) {
    if (failure !== undefined) continue
    for (const { entry = '', message = '' } of status?.problems ?? []) {
      add(entry, { node, status: 'Conflict', words: `${node}: ${message}` })
    }
    for (const { entries = [], message = '' } of status?.refusals ?? []) {
      for (const entry of entries)
        add(entry, { node, status: 'Error', words: `${node}: ${message}` })
    }
  }
  return reports
}

const ORDER = ['', 'Done', 'Pending', 'Conflict', 'Error']

/** One Service on one node. */
export interface NodeService {
  readonly node: string
  /** Undefined: they are not read yet. */
  readonly entries: readonly EntryMessage[] | undefined
  /** What its backends got, in the last two readings. */
  readonly samples: readonly [TrafficSample | undefined, TrafficSample | undefined]
  /** Why it cannot be read; empty: it can. */
  readonly failure: string
}

/** Those that were read. */
export function readServices(services: readonly NodeService[]): readonly ReadService[] {
  return services.flatMap((one) => {
    const { entries, failure } = one
    return entries === undefined || failure !== '' ? [] : [{ ...one, entries }]
  })
}

/** One Service on a node that answered. */
export interface ReadService extends NodeService {
  readonly entries: readonly EntryMessage[]
}

/** The worst state of these; empty: there is none. */
export function worstStatus(statuses: Iterable<string>): string {
  let worst = ''
  for (const status of statuses) {
    if (ORDER.indexOf(status) > ORDER.indexOf(worst)) worst = status
  }
  return worst
}
