import type { EntryId, ForwardingEntry, ServiceKey } from '../../forwarding/entry.ts'
import type { Element } from '../../kernel/nftables/objects.ts'
import { backendData } from '../../kernel/nftables/rules/encode.ts'
import type { Family } from '../../lib/ip.ts'
import {
  addNumbers,
  BackendSums,
  type BackendTraffic,
  type ObjectKey,
  type ReadTraffic,
  type TrafficNumbers,
  type TrafficReading,
} from '../mode.ts'
import type { ManagedState } from './kernel/managed-state.ts'
import { SET, TRAFFIC_SETS, tableOf } from './keys/names.ts'
import { frontendOfElement, keyOfElement } from './keys/object-key.ts'

/** Packets and bytes are counted together. */
const NONE = { packetsIn: 0, bytesIn: 0, packetsOut: 0, bytesOut: 0 }

/**
 * Connections by Service and backend, packets and bytes by Service. Every Service has a total, because an element that
 * is removed after a day must not make its Service look deleted.
 */
export async function readTraffic(
  state: ManagedState,
  isWanted?: Parameters<ReadTraffic>[0],
): Promise<TrafficReading> {
  const connections = await readConnections(state)
  const packets = await readPackets(state)
  const totals = new Map<ServiceKey, TrafficNumbers>()
  const backends = new BackendSums()
  for (const entry of state.program.entries()) {
    const { service } = entry
    const counts = connections.get(entry.id)
    totals.set(service, addNumbers(totals.get(service), { connections: sumOfBackends(counts) }))
    if (!isWanted?.(service)) continue
    for (const backend of backendsOf(entry, counts)) backends.add(service, backend)
  }
  for (const [service, numbers] of packets) {
    totals.set(service, addNumbers(totals.get(service), numbers))
  }
  return { totals, backends: backends.byService }
}

/**
 * Connections of one entry, by the backend as data of a map; includes backends that the entry does not have any more.
 */
type ByBackend = ReadonlyMap<string, number>

/** The counts in `connections` for each entry, over all its frontends. */
async function readConnections(state: ManagedState): Promise<ReadonlyMap<EntryId, ByBackend>> {
  const { program, settings } = state
  const found = new Map<EntryId, Map<string, number>>()
  for (const family of settings.families) {
    for (const { key, counter } of await countedElements(state, family, SET.connections)) {
      const { byAddress, byPort, backend } = connectionKey(family, key)
      const entry = program.entryOf(byAddress) ?? program.entryOf(byPort)
      if (entry === undefined) continue
      const counts = found.get(entry.id) ?? new Map<string, number>()
      const name = backend.toString('latin1')
      counts.set(name, (counts.get(name) ?? 0) + Number(counter.packets))
      found.set(entry.id, counts)
    }
  }
  return found
}

function sumOfBackends(counts: ByBackend | undefined): number {
  return [...(counts?.values() ?? [])].reduce((sum, count) => sum + count, 0)
}

/** The backends of an entry, each once, including those without a connection. */
function backendsOf(
  { id, pools }: ForwardingEntry,
  counts: ByBackend | undefined,
): readonly BackendTraffic[] {
  const found = new Map<string, BackendTraffic>()
  for (const backend of [...pools.cluster, ...pools.local]) {
    const data = backendData(backend).toString('latin1')
    const { ip, port } = backend
    found.set(data, { entry: id, ip, port, connections: counts?.get(data) ?? 0 })
  }
  return [...found.values()]
}

/** The counters of all frontends, summed by their Services. */
async function readPackets(state: ManagedState): Promise<ReadonlyMap<ServiceKey, TrafficNumbers>> {
  const { program, settings } = state
  const found = new Map<ServiceKey, TrafficNumbers>()
  for (const family of settings.families) {
    for (const [direction, sets] of Object.entries(TRAFFIC_SETS)) {
      for (const set of sets) {
        for (const { key, counter } of await countedElements(state, family, set)) {
          const owner = keyOfElement(family, set, key)
          const service = owner && program.entryOf(owner)?.service
          if (service === undefined) continue
          const sum = addNumbers(found.get(service) ?? NONE, numbersOf(direction, counter))
          found.set(service, sum)
        }
      }
    }
  }
  return found
}

function numbersOf(direction: string, { packets, bytes }: CountedElement['counter']) {
  return direction === 'in'
    ? { packetsIn: Number(packets), bytesIn: Number(bytes) }
    : { packetsOut: Number(packets), bytesOut: Number(bytes) }
}

type CountedElement = Element & Required<Pick<Element, 'counter'>>

/** The elements of a set that have counters, each once: a listing that the kernel restarts reports some twice. */
export async function countedElements(
  { nftables }: Pick<ManagedState, 'nftables'>,
  family: Family,
  set: string,
): Promise<Iterable<CountedElement>> {
  const elements = new Map<string, CountedElement>()
  await nftables.elements(tableOf(family), set, (element) => {
    const { counter } = element
    if (counter) elements.set(element.key.toString('latin1'), { ...element, counter })
  })
  return elements.values()
}

/** What an element of `connections` counts. */
interface ConnectionKey {
  /** The frontend with the address to which the connections were sent; it is looked up first. */
  readonly byAddress: ObjectKey
  /** The node port with the same number. */
  readonly byPort: ObjectKey
  /** The backend as data of a map. */
  readonly backend: Buffer
}

/** The key is address . proto . port of the frontend, then address . port of the backend. */
export function connectionKey(family: Family, key: Buffer): ConnectionKey {
  const address = family === 4 ? 4 : 16
  return {
    byAddress: frontendOfElement(family, key, true),
    byPort: frontendOfElement(family, key.subarray(address), false),
    backend: key.subarray(address + 8),
  }
}
