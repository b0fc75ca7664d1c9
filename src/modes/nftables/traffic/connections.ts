import type { EntryId, ForwardingEntry } from '../../../forwarding/entry.ts'
import type { BackendTraffic } from '../../mode.ts'
import type { ManagedState } from '../kernel/managed-state.ts'
import { backendData } from '../keys/encode.ts'
import { SET } from '../keys/names.ts'
import { connectionKey } from './connection-key.ts'
import { countedElements } from './counted-elements.ts'

/** Connections of one entry, by the backend as data of a map; also to those that it does not have any more. */
export type ByBackend = ReadonlyMap<string, number>

/** What `connections` counted of each entry, over all its frontends. */
export async function readConnections(
  state: ManagedState,
): Promise<ReadonlyMap<EntryId, ByBackend>> {
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

export function sumOfBackends(counts: ByBackend | undefined): number {
  return [...(counts?.values() ?? [])].reduce((sum, count) => sum + count, 0)
}

/** The backends that an entry has, each once, and those without a connection, too. */
export function backendsOf(
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
