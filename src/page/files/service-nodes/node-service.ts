import type { EntryMessage } from '../data/messages.ts'
import type { TrafficSample } from '../traffic/traffic-rates.ts'

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
