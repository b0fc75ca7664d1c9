import type { Backend, ForwardingEntry, Frontend } from '../../../forwarding/entry.ts'
import type { Verdict } from '../../../kernel/nftables/expression.ts'
import type { Element } from '../../../kernel/nftables/objects.ts'
import type { PlacedElement } from '../../../kernel/nftables/rules/digest.ts'
import {
  backendData,
  disjoint,
  frontendAddress,
  indexed,
} from '../../../kernel/nftables/rules/encode.ts'
import { commentOf } from '../../../kernel/nftables/rules/statements.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { ObjectKey } from '../../mode.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { CHAIN, SET, stickyNames, TRAFFIC_SETS } from '../keys/names.ts'
import { frontendKey, keyOf } from '../keys/object-key.ts'
import { affinityObjects } from './affinity.ts'
import { FIRST_INDEX } from './choice-chain.ts'
import type { Content } from './content.ts'
import { choicesOfPools, type Route, routesOf } from './routes.ts'

/** Everything that one entry has in the kernel. */
export interface Rendered {
  /** Its frontends, and the chains and sets of its affinity. */
  readonly objects: ReadonlyMap<ObjectKey, Content>
  /** Choice chains that it uses. */
  readonly choices: ReadonlySet<string>
  /** Its ClusterIPs. */
  readonly addresses: ReadonlySet<IpAddress>
}

/** What the frontends of an entry have in common. */
interface Common {
  readonly entry: ForwardingEntry
  readonly comment: string
  /** Each backend as data of a map, so that it is written once for all frontends. */
  readonly data: ReadonlyMap<Backend, Buffer>
}

/** Pure: the same entry and settings give the same objects, in any history. */
export function render(entry: ForwardingEntry, settings: NetfilterSettings): Rendered {
  const choices = choicesOfPools(entry)
  const backends = [...choices.cluster, ...choices.local]
  const data = new Map<Backend, Buffer>()
  for (const one of backends) if (!data.has(one)) data.set(one, backendData(one))
  const common: Common = { entry, comment: commentOf(entry.id), data }
  const routed = entry.frontends.map(
    (frontend) => [frontend, routesOf(entry, frontend, choices, settings)] as const,
  )
  const routes = routed.flatMap(([, own]) => own)
  const objects = new Map<ObjectKey, Content>()
  for (const [frontend, own] of routed) {
    const key = frontendKey(entry.family, { ...frontend, protocol: entry.protocol })
    const elements = frontendElements(common, frontend, own)
    const counters = settings.countsTraffic ? trafficElements(entry, frontend) : []
    objects.set(key, { kind: 'frontend', elements: [...elements, ...counters] })
  }
  if (entry.affinity && routes.length > 0) {
    for (const content of affinityObjects(entry, routes, settings)) {
      objects.set(keyOf(entry.family, content.kind, content.name), content)
    }
  }
  const addresses = entry.frontends.flatMap(({ kind, ip }) =>
    kind === 'clusterIP' && ip !== 'node' ? [ip] : [],
  )
  const used = new Set(routes.map(({ chain }) => chain))
  return { objects, choices: used, addresses: new Set(addresses) }
}

function frontendElements(
  { entry, comment, data }: Common,
  frontend: Frontend,
  routes: readonly Route[],
): readonly PlacedElement[] {
  const { ip } = frontend
  const { affinity, protocol, whenEmpty } = entry
  const key = frontendAddress(ip, protocol, frontend.port)
  const names = affinity && stickyNames(entry.id)
  const elements: PlacedElement[] = []
  const add = (set: string, element: Element) => elements.push({ set, element })
  for (const { isInside, pool, choices, mark, chain } of routes) {
    const verdict: Verdict = { kind: 'goto', chain: names ? names.sticky(pool, chain) : chain }
    add(verdictMap(ip, isInside), { key, data: verdict, comment })
    const endpoints = endpointMap(ip, isInside)
    for (const [index, backend] of choices.entries()) {
      add(endpoints, { key: indexed(key, FIRST_INDEX[mark] + index), data: data.get(backend)! })
    }
  }
  const isServedOutside = routes.some(({ isInside }) => !isInside)
  if (!isServedOutside) {
    const answers = ip === 'node' ? SET.noEndpointNodePorts : SET.noEndpoints
    add(answers, { key, data: answer(whenEmpty[frontend.pool]), comment })
    // The address comes before a node port of another Service with the same number.
    if (ip !== 'node') add(SET.services, { key, data: { kind: 'return' }, comment })
  }
  if (names && routes.length > 0) {
    const verdict: Verdict = { kind: 'jump', chain: names.remember }
    add(ip === 'node' ? SET.rememberedNodePorts : SET.remembered, { key, data: verdict })
  }
  elements.push(...rangeElements(key, frontend))
  return elements
}

function trafficElements(
  { protocol }: ForwardingEntry,
  { ip, port }: Frontend,
): readonly PlacedElement[] {
  const key = frontendAddress(ip, protocol, port)
  return Object.values(TRAFFIC_SETS).map(([byAddress, byPort]) => ({
    set: ip === 'node' ? byPort : byAddress,
    element: { key },
  }))
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
  return whenEmpty === 'drop' ? { kind: 'drop' } : { kind: 'goto', chain: CHAIN.rejected }
}

/** A range of length 0 admits every client of the family, so no element is needed. */
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
