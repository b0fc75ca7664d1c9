import type { ServiceMessage } from '../data/messages.ts'
import { type RowRules, type Selection, selectRows } from '../grid/selection.ts'
import {
  NO_RATES,
  ratesBetween,
  type TrafficRates,
  type TrafficSample,
} from '../traffic/traffic-rates.ts'

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
