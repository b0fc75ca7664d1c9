import type { Element } from '../../../kernel/nftables/objects.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Change, ObjectKey } from '../../mode.ts'
import type { PlacedElement } from '../keys/digest.ts'
import { FRONTEND_SETS, keyOf, keyOfElement, objectOf } from '../keys/object-key.ts'
import { clientMapOf, isBackendSet, isFilledByPackets, tableOf } from '../names.ts'
import { staleClients } from '../stale-clients.ts'
import type { ManagedState } from './managed-state.ts'
import { recordedElements } from './recorded-elements.ts'
import type { PresentElements } from './steps.ts'

/**
 * Reads what the plan of a change must know of the kernel: elements of sets, elements of frontends that were not
 * written from an entry, and clients whose backend leaves. From then on no client is remembered with such a backend:
 * it is deleted from the set of backends first, so that the clients that are read are all of them.
 */
export async function readPresent(
  { set, unset }: Change,
  family: Family,
  state: ManagedState,
): Promise<PresentElements> {
  const frontends = await readFrontends([...set, ...unset], family, state)
  const sets = new Map<ObjectKey, readonly PlacedElement[]>()
  const stale = new Map<ObjectKey, readonly PlacedElement[]>()
  for (const key of set) {
    const { family: its, kind, name } = objectOf(key)
    if (its !== family || kind !== 'set') continue
    if (isFilledByPackets(name) || !state.record.has(key)) continue
    const present = await elementsOf(state, key)
    const { staying, clients } = isBackendSet(name)
      ? await closeToLeaving(state, key, present)
      : { staying: present, clients: [] }
    sets.set(key, staying)
    stale.set(key, clients)
  }
  return {
    ofFrontend: (key) => frontends.get(key) ?? recordedElements(state, key),
    ofSet: (key) => sets.get(key) ?? [],
    staleClientsOf: (key) => stale.get(key) ?? [],
  }
}

/** One dump of each map for all of them. */
async function readFrontends(
  keys: readonly ObjectKey[],
  family: Family,
  { nftables, record }: ManagedState,
): Promise<ReadonlyMap<ObjectKey, readonly PlacedElement[]>> {
  const unread = keys.filter((key) => {
    const { family: its, kind } = objectOf(key)
    return its === family && kind === 'frontend' && record.holdingOf(key) === 'unread'
  })
  const found = new Map(unread.map((key) => [key, new Map<string, PlacedElement>()]))
  if (unread.length === 0) return new Map()
  for (const set of FRONTEND_SETS) {
    await nftables.elements(tableOf(family), set, (element) => {
      const owner = keyOfElement(family, set, element.key)
      const elements = owner === undefined ? undefined : found.get(owner)
      elements?.set(`${set} ${idOf(element)}`, { set, element })
    })
  }
  return new Map([...found].map(([key, elements]) => [key, [...elements.values()]]))
}

async function elementsOf(
  { nftables }: ManagedState,
  key: ObjectKey,
): Promise<readonly PlacedElement[]> {
  const { family, name } = objectOf(key)
  const found = new Map<string, PlacedElement>()
  await nftables.elements(tableOf(family), name, (element) => {
    found.set(idOf(element), { set: name, element })
  })
  return [...found.values()]
}

/** Deletes the backends that leave from their set; then reads the clients that are remembered with one. */
async function closeToLeaving(
  state: ManagedState,
  key: ObjectKey,
  present: readonly PlacedElement[],
): Promise<{
  readonly staying: readonly PlacedElement[]
  readonly clients: readonly PlacedElement[]
}> {
  const { family, name } = objectOf(key)
  const content = state.program.contentOf(key)
  const elements = content?.kind === 'set' ? content.elements : []
  const wanted = new Set(elements.map((backend) => backend.key.toString('latin1')))
  const { staying = [], leaving = [] } = Object.groupBy(present, ({ element }) =>
    wanted.has(element.key.toString('latin1')) ? 'staying' : 'leaving',
  )
  if (leaving.length === 0) return { staying, clients: [] }
  const error = await state.nftables.commit([
    {
      ...{ do: 'deleteElements', table: tableOf(family), set: name },
      elements: leaving.map(({ element }) => element),
    },
  ])
  const clients = await readStale(state, keyOf(family, 'set', clientMapOf(name)))
  return { staying: error === undefined ? staying : present, clients }
}

/** The clients of a map, and of its map of ports, whose backend is none any more. */
async function readStale(state: ManagedState, map: ObjectKey): Promise<readonly PlacedElement[]> {
  const content = state.program.contentOf(map)
  if (content?.kind !== 'set' || !state.record.has(map)) return []
  const { family } = objectOf(map)
  const clients = await elementsOf(state, map)
  const ports = content.ports ? await elementsOf(state, keyOf(family, 'set', content.ports)) : []
  const bare = (placed: readonly PlacedElement[]) => placed.map(({ element }) => element)
  const stale = staleClients(content, bare(clients), bare(ports))
  return [...withKeys(clients, stale.clients), ...withKeys(ports, stale.ports)]
}

function withKeys(
  placed: readonly PlacedElement[],
  keys: readonly Buffer[],
): readonly PlacedElement[] {
  const wanted = new Set(keys.map((key) => key.toString('latin1')))
  return placed.filter(({ element }) => wanted.has(element.key.toString('latin1')))
}

function idOf({ key, keyEnd }: Element): string {
  return `${key.toString('latin1')} ${keyEnd?.toString('latin1') ?? ''}`
}
