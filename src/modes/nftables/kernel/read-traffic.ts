import type { ServiceKey } from '../../../forwarding/entry.ts'
import type { Element } from '../../../kernel/nftables/objects.ts'
import type { TrafficNumbers } from '../../mode.ts'
import { TRAFFIC_SETS, tableOf } from '../keys/names.ts'
import { keyOfElement } from '../keys/object-key.ts'
import type { ManagedState } from './managed-state.ts'

/** Packets and bytes are counted together. */
type PacketNumbers = Required<Omit<TrafficNumbers, 'connections' | 'connectionsNow'>>

const NONE: PacketNumbers = { packetsIn: 0, bytesIn: 0, packetsOut: 0, bytesOut: 0 }

/** The counters of all frontends, summed by their Services. */
export async function readTraffic({
  nftables,
  program,
  settings,
}: ManagedState): Promise<ReadonlyMap<ServiceKey, TrafficNumbers>> {
  const found = new Map<ServiceKey, PacketNumbers>()
  for (const family of settings.families) {
    for (const [direction, sets] of Object.entries(TRAFFIC_SETS)) {
      for (const set of sets) {
        // A dump that is repeated passes elements twice.
        const elements = new Map<string, Element>()
        await nftables.elements(tableOf(family), set, (element) =>
          elements.set(element.key.toString('latin1'), element),
        )
        for (const { key, counter } of elements.values()) {
          const owner = keyOfElement(family, set, key)
          const service = owner && program.entryOf(owner)?.service
          if (service === undefined || counter === undefined) continue
          found.set(service, sum(found.get(service) ?? NONE, direction, counter))
        }
      }
    }
  }
  return found
}

function sum(
  traffic: PacketNumbers,
  direction: string,
  { packets, bytes }: NonNullable<Element['counter']>,
): PacketNumbers {
  return direction === 'in'
    ? {
        ...traffic,
        packetsIn: traffic.packetsIn + Number(packets),
        bytesIn: traffic.bytesIn + Number(bytes),
      }
    : {
        ...traffic,
        packetsOut: traffic.packetsOut + Number(packets),
        bytesOut: traffic.bytesOut + Number(bytes),
      }
}
