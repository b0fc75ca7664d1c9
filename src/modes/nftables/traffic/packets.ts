import type { ServiceKey } from '../../../forwarding/entry.ts'
import type { TrafficNumbers } from '../../mode.ts'
import type { ManagedState } from '../kernel/managed-state.ts'
import { TRAFFIC_SETS } from '../keys/names.ts'
import { keyOfElement } from '../keys/object-key.ts'
import { type CountedElement, countedElements } from './counted-elements.ts'

/** Packets and bytes are counted together. */
type PacketNumbers = Required<Omit<TrafficNumbers, 'connections' | 'connectionsNow'>>

const NONE: PacketNumbers = { packetsIn: 0, bytesIn: 0, packetsOut: 0, bytesOut: 0 }

/** The counters of all frontends, summed by their Services. */
export async function readPackets(
  state: ManagedState,
): Promise<ReadonlyMap<ServiceKey, TrafficNumbers>> {
  const { program, settings } = state
  const found = new Map<ServiceKey, PacketNumbers>()
  for (const family of settings.families) {
    for (const [direction, sets] of Object.entries(TRAFFIC_SETS)) {
      for (const set of sets) {
        for (const { key, counter } of await countedElements(state, family, set)) {
          const owner = keyOfElement(family, set, key)
          const service = owner && program.entryOf(owner)?.service
          if (service === undefined) continue
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
  { packets, bytes }: CountedElement['counter'],
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
