import type { Element } from '../../../kernel/nftables/objects.ts'
import type { PlacedElement } from '../../../kernel/nftables/rules/digest.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Change, ObjectKey } from '../../mode.ts'
import { clientMapOf, isBackendSet, isFilledByPackets, portMapOf, tableOf } from '../keys/names.ts'
import { FRONTEND_SETS, isPlaced, keyOfElement, objectOf } from '../keys/object-key.ts'
import { recordedElements } from './kernel-record.ts'
import type { ManagedState } from './managed-state.ts'
import type { PresentElements } from './steps.ts'

/** The maximum number of times that the clients of one pool are listed. */
const MAX_LOOKS = 5

/**
 * Reads what the plan of a change must know about the kernel: elements of sets, elements of frontends that were not
 * written from an entry, and clients whose backend leaves. A backend that leaves is first deleted from the set of
 * backends. From then on no new client is remembered with it, so that the clients that are read are complete.
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

/** Reads several frontends with one dump of each map. */
async function readFrontends(
  keys: readonly ObjectKey[],
  family: Family,
  { nftables, record }: ManagedState,
): Promise<ReadonlyMap<ObjectKey, readonly PlacedElement[]>> {
  const unread = keys.filter((key) => {
    const object = objectOf(key)
    return object.family === family && isPlaced(object) && record.holdingOf(key) === 'unread'
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

async function elementsOf(state: ManagedState, key: ObjectKey): Promise<readonly PlacedElement[]> {
  const { family, name } = objectOf(key)
  const elements = await readElements(state, family, name)
  return elements.map((element) => ({ set: name, element }))
}

/** Deletes backends that leave from their set; then reads the clients that are remembered with one of them. */
async function closeToLeaving(
  state: ManagedState,
  key: ObjectKey,
  present: readonly PlacedElement[],
): Promise<Record<'staying' | 'clients', readonly PlacedElement[]>> {
  const { family, name } = objectOf(key)
  const table = tableOf(family)
  const content = state.program.contentOf(key)
  const elements = content?.kind === 'set' ? content.elements : []
  const wanted = new Set(elements.map((backend) => backend.key.toString('latin1')))
  const { staying = [], leaving = [] } = Object.groupBy(present, ({ element }) =>
    wanted.has(element.key.toString('latin1')) ? 'staying' : 'leaving',
  )
  if (leaving.length === 0) return { staying, clients: [] }
  const gone = leaving.map(({ element }) => element)
  const leave = { do: 'deleteElements', table, set: name, elements: gone } as const
  const error = await state.nftables.commit([leave])
  const [clients, ports] = [clientMapOf(name), portMapOf(name, family)]
  const stale = await readStale(
    elements.map((backend) => backend.key),
    async (found) => {
      await readElements(state, family, clients, found.clients)
      if (ports !== undefined) await readElements(state, family, ports, found.ports)
    },
    ports !== undefined,
  )
  return {
    staying: error === undefined ? staying : present,
    clients: [
      ...stale.clients.map((element) => ({ set: clients, element })),
      ...stale.ports.map((element) => ({ set: ports ?? clients, element })),
    ],
  }
}

/**
 * Packets change the maps while they are listed, which may hide a client: they are listed until no new client appears.
 */
async function readStale(
  backends: readonly Buffer[],
  list: (found: Record<'clients' | 'ports', Map<string, Element>>) => Promise<void>,
  hasPorts: boolean,
): Promise<ReturnType<typeof staleClients>> {
  const found = { clients: new Map<string, Element>(), ports: new Map<string, Element>() }
  for (let looks = 1, known = -1; ; looks++) {
    await list(found)
    const ports = hasPorts ? [...found.ports.values()] : undefined
    const stale = staleClients(backends, [...found.clients.values()], ports)
    const count = stale.clients.length + stale.ports.length
    if (count === known || looks === MAX_LOOKS) return stale
    known = count
  }
}

/** Adds each element of a set to `found` once. */
async function readElements(
  { nftables }: ManagedState,
  family: Family,
  set: string,
  found = new Map<string, Element>(),
): Promise<readonly Element[]> {
  await nftables.elements(tableOf(family), set, (element) => found.set(idOf(element), element))
  return [...found.values()]
}

function idOf({ key, keyEnd }: Element): string {
  return `${key.toString('latin1')} ${keyEnd?.toString('latin1') ?? ''}`
}

/** Elements to delete from each of the two maps. */
interface StaleClients {
  readonly clients: readonly Element[]
  /** Elements of the map of ports; empty if the map of clients contains the ports. */
  readonly ports: readonly Element[]
}

/**
 * The clients that are remembered with a backend that is not in `backends` (address . port, as the keys of their set).
 * `clients` and, if there is a separate map, `ports` are the contents of the maps. A client with an address and no
 * port, or the reverse, is stale as well.
 */
export function staleClients(
  backends: Iterable<Buffer>,
  clients: readonly Element[],
  ports?: readonly Element[],
): StaleClients {
  const present = new Set(Iterator.from(backends).map(textOf))
  const portOf = new Map(ports?.map(({ key, data }) => [textOf(key), textOf(data)]))
  const good = new Set<string>()
  for (const { key, data } of clients) {
    const port = ports === undefined ? '' : portOf.get(textOf(key))
    if (port !== undefined && present.has(textOf(data) + port)) good.add(textOf(key))
  }
  const isStale = ({ key }: Element) => !good.has(textOf(key))
  return { clients: clients.filter(isStale), ports: ports?.filter(isStale) ?? [] }
}

function textOf(bytes: Element['data']): string {
  return Buffer.isBuffer(bytes) ? bytes.toString('latin1') : ''
}
