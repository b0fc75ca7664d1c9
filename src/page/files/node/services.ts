import type {
  BackendJson,
  BackendTrafficJson,
} from '../../../inspection/generated/inspection_pb.ts'
import type { EntryMessage, ServiceMessage } from '../data/node-api.ts'
import { hostPort } from '../display/format.ts'
import { type RowRules, type Selection, selectRows } from '../display/selection.ts'
import {
  bytesOf,
  NO_RATES,
  ratesBetween,
  type TrafficCounts,
  type TrafficRates,
  type TrafficSample,
  trafficCounts,
} from './traffic-rates.ts'

/** One row of the table. */
export interface ServiceRow {
  /** namespace/name */
  readonly service: string
  /** Done, Pending, Conflict or Error. */
  readonly status: string
  readonly problem: string
  readonly entries: number
  readonly backends: number
  readonly rates: TrafficRates
}

export type SortKey = 'service' | 'status' | 'entries' | 'backends' | 'connections' | 'bytes'

export const ALL_SERVICES: Selection<SortKey> = {
  text: '',
  onlyProblems: false,
  sort: 'service',
  isDescending: false,
}

/** Columns that hold words. */
export const TEXTS: ReadonlySet<string> = new Set<SortKey>(['service', 'status'])

const RULES: RowRules<ServiceRow, SortKey> = {
  values: {
    service: ({ service }) => service,
    status: ({ status }) => status,
    entries: ({ entries }) => entries,
    backends: ({ backends }) => backends,
    connections: ({ rates }) => rates.connections ?? -1,
    bytes: ({ rates }) => rates.bytes ?? -1,
  },
  textOf: ({ service, status, problem }) => `${service} ${status} ${problem}`,
  isProblem,
}

/** The Services that a selection shows. */
export function selectServices(
  rows: readonly ServiceRow[],
  selection: Selection<SortKey>,
): readonly ServiceRow[] {
  return selectRows(rows, selection, RULES)
}

export function isProblem({ status, problem }: Pick<ServiceRow, 'status' | 'problem'>): boolean {
  return problem !== '' || (status !== 'Done' && status !== '')
}

/** The rows of Services with what they forward between two samples. */
export function serviceRows(
  services: readonly ServiceMessage[],
  [before, after]: readonly [TrafficSample | undefined, TrafficSample | undefined],
): readonly ServiceRow[] {
  return services.map(({ service, status = '', problem, entries = 0, backends = 0 }) => {
    const rates = after === undefined ? NO_RATES : ratesBetween(before, after, service)
    return { service, status, problem: problem?.message ?? '', entries, backends, rates }
  })
}

/** One backend of an entry, with what went to it. */
export interface BackendRow {
  readonly address: string
  /** What is to be known of it: `on this node`, `drains`. */
  readonly marks: readonly string[]
  readonly weight: number
  /** Of the connections of its entry, 0 to 1; undefined: they are not counted, or there is none. */
  readonly share: number | undefined
  readonly connections: number | undefined
  readonly connectionsPerSecond: number | undefined
  readonly bytes: number | undefined
  readonly bytesPerSecond: number | undefined
}

/** The counters of backends at one moment. */
export function backendSample(at: number, backends: readonly BackendTrafficJson[]): TrafficSample {
  const counts = backends.map(
    ({ entry = '', ip = '', port, traffic }) =>
      [nameOf(entry, ip, port), trafficCounts(traffic)] as const,
  )
  return { at, counts: new Map(counts) }
}

/** The backends of an entry with their traffic between two samples. */
export function backendRows(
  { id, backends = [] }: EntryMessage,
  [before, after]: readonly [TrafficSample | undefined, TrafficSample | undefined],
): readonly BackendRow[] {
  const names = backends.map(({ ip = '', port }) => nameOf(id, ip, port))
  const counts = names.map((name) => after?.counts.get(name))
  const total = counts.reduce((sum, one) => sum + (one?.connections ?? 0), 0)
  return backends.map((backend, index) => {
    const { ip = '', port, weight = 0 } = backend
    const count: TrafficCounts | undefined = counts[index]
    const rates = after === undefined ? undefined : ratesBetween(before, after, names[index] ?? '')
    return {
      address: hostPort(ip, port),
      marks: marksOf(backend),
      weight,
      connections: count?.connections,
      connectionsPerSecond: rates?.connections,
      bytes: count === undefined ? undefined : bytesOf(count),
      bytesPerSecond: rates?.bytes,
      share:
        total === 0 || count?.connections === undefined ? undefined : count.connections / total,
    }
  })
}

function nameOf(entry: string, ip: string, port: number | undefined): string {
  return `${entry} ${ip} ${port ?? 0}`
}

function marksOf(backend: BackendJson): readonly string[] {
  const { isLocal = false, inClusterPool = false, inLocalPool = false, drainingUntil } = backend
  const isDraining = Number(drainingUntil ?? 0) > 0
  return [
    ...(isLocal ? ['on this node'] : []),
    ...(isDraining ? ['drains'] : []),
    ...(inClusterPool || inLocalPool || isDraining ? [] : ['not used here']),
  ]
}
