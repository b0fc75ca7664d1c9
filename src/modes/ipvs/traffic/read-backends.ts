import type { EntryId, ServiceKey } from '../../../forwarding/entry.ts'
import type { RealServerState } from '../../../kernel/ipvs/ipvs.ts'
import type { BackendTraffic } from '../../mode.ts'
import { addNumbers } from '../../netfilter/traffic/add-numbers.ts'
import type { VirtualServers } from '../servers/virtual-servers.ts'
import type { EntryOwners } from './entry-owners.ts'
import { trafficNumbers } from './traffic-numbers.ts'

interface Sources {
  readonly servers: Pick<VirtualServers, 'known' | 'states'>
  readonly program: EntryOwners
}

/**
 * The real servers of the wanted Services: one request for each virtual server. A backend that several virtual servers
 * of an entry have (one for each frontend, and one by its mark) is the sum of them.
 */
export async function readBackends(
  { servers, program }: Sources,
  isWanted: (service: ServiceKey) => boolean,
): Promise<ReadonlyMap<ServiceKey, readonly BackendTraffic[]>> {
  const wanted = [...servers.known.keys()].filter((key) => {
    const entry = program.entryOf(key)
    return entry !== undefined && isWanted(entry.service)
  })
  const found = new Map<ServiceKey, Map<string, BackendTraffic>>()
  for (const [key, states] of await servers.states(wanted)) {
    const entry = program.entryOf(key)
    if (entry === undefined) continue
    const backends = found.get(entry.service) ?? new Map<string, BackendTraffic>()
    found.set(entry.service, backends)
    for (const state of states) addState(backends, entry.id, state)
  }
  return new Map([...found].map(([service, backends]) => [service, [...backends.values()]]))
}

function addState(
  backends: Map<string, BackendTraffic>,
  entry: EntryId,
  { ip, port, activeConnections, inactiveConnections, counters }: RealServerState,
): void {
  const name = `${entry} ${ip} ${port}`
  const connectionsNow = activeConnections + inactiveConnections
  const numbers = { ...trafficNumbers(counters), connectionsNow }
  backends.set(name, { entry, ip, port, ...addNumbers(backends.get(name), numbers) })
}
