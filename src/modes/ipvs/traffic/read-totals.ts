import type { ServiceKey } from '../../../forwarding/entry.ts'
import type { Ipvs } from '../../../kernel/ipvs/ipvs.ts'
import type { TrafficNumbers } from '../../mode.ts'
import { addNumbers } from '../../netfilter/traffic/add-numbers.ts'
import { serverKey } from '../objects/object.ts'
import type { EntryOwners } from './entry-owners.ts'
import { trafficNumbers } from './traffic-numbers.ts'

/** What all virtual servers of each Service counted: one dump, without their real servers. */
export async function readTotals(
  ipvs: Pick<Ipvs, 'services'>,
  program: EntryOwners,
): Promise<ReadonlyMap<ServiceKey, TrafficNumbers>> {
  const totals = new Map<ServiceKey, TrafficNumbers>()
  for (const { id, counters } of await ipvs.services()) {
    const service = program.entryOf(serverKey(id))?.service
    if (service === undefined) continue
    totals.set(service, addNumbers(totals.get(service), trafficNumbers(counters)))
  }
  return totals
}
