import type { Backend, ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import type { Element, FieldType, Rule } from '../../kernel/nftables/objects.ts'
import type { Verdict } from '../../kernel/nftables/verdict.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { choiceChain, type MarkClass, markRules, type Way } from './choice-chain.ts'
import { choicesOf } from './choices.ts'
import type { Content } from './content.ts'
import type { PlacedElement } from './keys/digest.ts'
import { address, disjoint, hostWord, port, protocol } from './keys/encode.ts'
import { frontendKey, keyOf } from './keys/object-key.ts'
import { affinityNames, CHAIN, commentOf, SET } from './names.ts'
import { DESTINATION_PORT, destinationAddress, sourceAddress } from './statements/fields.ts'
import { isEverySourcePod, isProtocol, notFromPods } from './statements/matches.ts'
import { goto, isIn, translate, update } from './statements/statements.ts'

/** Clients that one entry with affinity remembers at most. */
const MAX_CLIENTS = 1_000_000

/** Everything that one entry has in the kernel. */
export interface Rendered {
  /** Its frontends, and the chains and sets of its affinity. */
  readonly objects: ReadonlyMap<ObjectKey, Content>
  /** Choice chains that it uses. */
  readonly choices: ReadonlySet<string>
}

/** How packets of one frontend get to one pool. */
interface Route {
  readonly isInside: boolean
  readonly pool: Pool
  readonly backends: readonly Backend[]
  readonly mark: MarkClass
  readonly choice: string
}

/** Pure: the same entry and settings give the same objects, in any history. */
export function render(entry: ForwardingEntry, settings: NetfilterSettings): Rendered {
  const pools = { cluster: choicesOf(entry.pools.cluster), local: choicesOf(entry.pools.local) }
  const routed = entry.frontends.map((frontend) => ({
    frontend,
    routes: routesOf(entry, frontend, pools, settings),
  }))
  const routes = routed.flatMap((one) => one.routes)
  const used = new Set(routes.map(({ pool }) => pool))
  const objects = new Map<ObjectKey, Content>()
  for (const one of routed) {
    const key = frontendKey(entry.family, { ...one.frontend, protocol: entry.protocol })
    const elements = frontendElements(entry, one.frontend, one.routes)
    objects.set(key, { kind: 'frontend', elements })
  }
  if (entry.affinity && routes.length > 0) {
    for (const content of affinityObjects(entry, routes, used, settings)) {
      objects.set(keyOf(entry.family, content.kind, content.name), content)
    }
  }
  return { objects, choices: new Set(routes.map(({ choice }) => choice)) }
}

function routesOf(
  entry: ForwardingEntry,
  { ip, pool, shortCircuit, masquerade }: Frontend,
  pools: Readonly<Record<Pool, readonly Backend[]>>,
  settings: NetfilterSettings,
): readonly Route[] {
  const isNodePort = ip === 'node'
  const route = (to: Pool, isInside: boolean, mark: MarkClass): Route[] => {
    const backends = pools[to]
    const way: Way = `${isInside ? 'inside-' : ''}${isNodePort ? 'node-port-' : ''}`
    if (backends.length === 0) return []
    return [{ isInside, pool: to, backends, mark, choice: choiceChain(way, backends.length, mark) }]
  }
  if (!shortCircuit) {
    const mark = masquerade === 'offCluster' ? offCluster(entry, settings) : '-masquerade'
    return route(pool, false, mark)
  }
  const onNode = isEverySourcePod(settings, entry.family) ? '' : '-on-node'
  return [...route('cluster', true, onNode), ...route(pool, false, '')]
}

function offCluster({ family }: ForwardingEntry, settings: NetfilterSettings): MarkClass {
  if (settings.masqueradeAll) return '-masquerade'
  return notFromPods(settings, family) ? '-off-cluster' : ''
}

function frontendElements(
  entry: ForwardingEntry,
  frontend: Frontend,
  routes: readonly Route[],
): readonly PlacedElement[] {
  const { ip } = frontend
  const place = [protocol(entry.protocol), port(frontend.port)]
  const key = Buffer.concat(ip === 'node' ? place : [address(ip), ...place])
  const comment = commentOf(entry.id)
  const elements: PlacedElement[] = []
  const add = (set: string, element: Element) => elements.push({ set, element })
  const isServed = routes.some(({ isInside }) => !isInside)
  for (const { isInside, backends, choice } of routes) {
    const chain = entry.affinity ? affinityNames(entry.id).sticky(choice) : choice
    add(verdictMap(ip, isInside), { key, data: { kind: 'goto', chain }, comment })
    for (const [index, backend] of backends.entries()) {
      const data = Buffer.concat([address(backend.ip), port(backend.port)])
      add(endpointMap(ip, isInside), { key: Buffer.concat([key, hostWord(index)]), data })
    }
  }
  if (!isServed) {
    const data = answer(entry.whenEmpty[frontend.pool])
    add(ip === 'node' ? SET.noEndpointNodePorts : SET.noEndpoints, { key, data, comment })
    // The address comes before a node port of another Service, which may have the same number.
    if (ip !== 'node') add(SET.services, { key, data: { kind: 'return' }, comment })
  }
  if (entry.affinity && routes.length > 0) {
    const data: Verdict = { kind: 'jump', chain: affinityNames(entry.id).remember }
    add(ip === 'node' ? SET.rememberedNodePorts : SET.remembered, { key, data })
  }
  for (const one of rangeElements(key, frontend)) elements.push(one)
  return elements
}

function verdictMap(ip: IpAddress | 'node', isInside: boolean): string {
  if (ip === 'node') return isInside ? SET.insideNodePorts : SET.nodePorts
  return isInside ? SET.insideServices : SET.services
}

function endpointMap(ip: IpAddress | 'node', isInside: boolean): string {
  if (ip === 'node') return isInside ? SET.insideNodePortEndpoints : SET.nodePortEndpoints
  return isInside ? SET.insideEndpoints : SET.endpoints
}

function answer(whenEmpty: 'reject' | 'drop'): Verdict {
  return whenEmpty === 'drop' ? { kind: 'drop' } : { kind: 'goto', chain: CHAIN.reject }
}

/** A range of length 0 admits every client of the family: there is nothing to limit. */
function rangeElements(key: Buffer, { ip, sourceRanges }: Frontend): readonly PlacedElement[] {
  if (ip === 'node' || sourceRanges === undefined) return []
  const ranges = disjoint(sourceRanges).filter(({ first }) => first.length === key.length - 8)
  if (ranges.some(({ prefix }) => prefix === 0)) return []
  return [
    { set: SET.limitedServices, element: { key } },
    ...ranges.map(({ first, last }) => ({
      set: SET.sourceRanges,
      element: { key: Buffer.concat([key, first]), keyEnd: Buffer.concat([key, last]) },
    })),
  ]
}

/**
 * The maps and chains of an entry with affinity. A client is remembered only with a backend of the entry. Where the entry
 * uses both pools, the local one has a map of its own: the client of a local pool must not be sent to another node.
 */
function affinityObjects(
  entry: ForwardingEntry,
  routes: readonly Route[],
  used: ReadonlySet<Pool>,
  settings: NetfilterSettings,
): readonly Exclude<Content, { kind: 'frontend' | 'table' }>[] {
  const { family, id } = entry
  const names = affinityNames(id)
  const comment = commentOf(id)
  const ip: FieldType = family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const backend: readonly FieldType[] = [ip, 'inet_service']
  const timeout = (entry.affinity?.seconds ?? 0) * 1_000
  const maps = [{ clients: names.clients, backends: names.backends, of: [...used] }]
  const hasBoth = used.size > 1
  if (hasBoth) {
    maps.push({ clients: names.localClients, backends: names.localBackends, of: ['local'] })
  }
  const clientsOf = (pool: Pool) =>
    hasBoth && pool === 'local' ? names.localClients : names.clients
  const target = [destinationAddress(family), DESTINATION_PORT]
  const sticky = new Map(routes.map((route) => [route.choice, route]))
  return [
    ...maps.flatMap(
      ({ clients, backends, of }): Exclude<Content, { kind: 'frontend' | 'table' }>[] => {
        const present = distinct(of.flatMap((pool) => entry.pools[pool]))
        return [
          {
            kind: 'set',
            name: clients,
            spec: {
              ...{ key: [ip], data: backend, isDynamic: true, hasTimeouts: true },
              ...{ size: MAX_CLIENTS, comment },
            },
            elements: [],
            backends: present,
          },
          {
            kind: 'set',
            name: backends,
            spec: { key: backend, comment },
            elements: present.map((one) => ({
              key: Buffer.concat([address(one.ip), port(one.port)]),
            })),
          },
        ]
      },
    ),
    {
      kind: 'chain',
      name: names.remember,
      spec: {},
      rules: maps.map(({ clients, backends }) => ({
        expressions: [
          ...isIn(backends, ...target),
          ...update(clients, { key: [sourceAddress(family)], data: target, timeout }),
        ],
        comment,
      })),
    },
    ...[...sticky.values()].map(({ choice, mark, pool }) => ({
      kind: 'chain' as const,
      name: names.sticky(choice),
      spec: {},
      rules: [
        ...markRules(mark, settings, family),
        {
          expressions: [
            ...isProtocol(entry.protocol),
            ...translate(family, clientsOf(pool), sourceAddress(family)),
          ],
          comment,
        },
        { expressions: goto(choice) },
      ] satisfies Rule[],
    })),
  ]
}

/** Backends that get new connections, each once. */
function distinct(backends: readonly Backend[]): readonly Backend[] {
  const usable = backends.filter(({ weight }) => weight > 0)
  return [...new Map(usable.map((one) => [`${one.ip} ${one.port}`, one])).values()]
}
