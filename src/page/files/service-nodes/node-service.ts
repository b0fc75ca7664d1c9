import type { EntryMessage } from '../data/messages.ts'
import type { TrafficSample } from '../traffic/traffic-rates.ts'

const ORDER = ['', 'Done', 'Pending', 'Conflict', 'Error']

/** One Service on one node. */
export interface NodeService {
  readonly node: string
  /** Undefined: the entries are not read yet. */
  readonly entries: readonly EntryMessage[] | undefined
  /** The traffic of its backends in the last two readings. */
  readonly samples: readonly [TrafficSample | undefined, TrafficSample | undefined]
  /** Why the Service cannot be read; empty: it can. */
  readonly failure: string
}

/** The nodes of which the Service was read. */
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
