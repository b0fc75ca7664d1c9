import type { ServiceKey } from '../../../forwarding/entry.ts'
import type { BackendTraffic, ReadTraffic, TrafficNumbers, TrafficReading } from '../../mode.ts'
import { addNumbers } from '../../netfilter/traffic/add-numbers.ts'
import type { ManagedState } from '../kernel/managed-state.ts'
import { backendsOf, readConnections, sumOfBackends } from './connections.ts'
import { readPackets } from './packets.ts'

/**
 * Connections by Service and backend, packets and bytes by Service. Every Service has a total: an
 * element that goes after a day must not look like a Service that is gone.
 */
export async function readTraffic(
  state: ManagedState,
  isWanted?: Parameters<ReadTraffic>[0],
): Promise<TrafficReading> {
  const connections = await readConnections(state)
  const packets = await readPackets(state)
  const totals = new Map<ServiceKey, TrafficNumbers>()
  const backends = new Map<ServiceKey, BackendTraffic[]>()
  for (const entry of state.program.entries()) {
    const { service } = entry
    const counts = connections.get(entry.id)
    totals.set(service, addNumbers(totals.get(service), { connections: sumOfBackends(counts) }))
    if (!isWanted?.(service)) continue
    const known = backends.get(service) ?? []
    known.push(...backendsOf(entry, counts))
    backends.set(service, known)
  }
  for (const [service, numbers] of packets) {
    totals.set(service, { ...totals.get(service), ...numbers })
  }
  return { totals, backends }
}
