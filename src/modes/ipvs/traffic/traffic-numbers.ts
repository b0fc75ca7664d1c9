import type { TrafficCounters } from '../../../kernel/ipvs/ipvs.ts'
import type { TrafficNumbers } from '../../mode.ts'

/** Counters of IPVS in the words of the contract. */
export function trafficNumbers(counters: TrafficCounters): TrafficNumbers {
  return {
    connections: counters.connections,
    packetsIn: counters.incomingPackets,
    bytesIn: counters.incomingBytes,
    packetsOut: counters.outgoingPackets,
    bytesOut: counters.outgoingBytes,
  }
}
