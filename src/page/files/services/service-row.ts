import type { ServiceMessage } from '../data/messages.ts'
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
