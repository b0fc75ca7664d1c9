import type { EntryId, ForwardingEntry, Frontend } from '../../forwarding/entry.ts'
import { memberText } from '../../kernel/ipset/sets.ts'
import { contentHash } from '../../lib/hash.ts'
import { familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import {
  addressesOfFamily,
  arrivalAt,
  arrivalMembers,
  healthCheckMembers,
  type MemberPoint,
  usableBackends,
} from '../netfilter/arrival.ts'
import { servesLoopback } from '../netfilter/node-ports.ts'
import { nameOf, PRESENT } from '../netfilter/object-key.ts'
import type { PointClaim } from '../netfilter/wanted-objects.ts'
import { SETS } from './names.ts'
import type { Balancing, Route, RouteListener, RouteProtocol } from './route.ts'
import {
  type BoundListening,
  listeningOf,
  type TransparentListening,
  type UserspaceSettings,
} from './settings.ts'

/** The data path always applies weights, so the weighted schedulers are the same as the plain ones. */
const BALANCINGS: ReadonlyMap<string, Balancing> = new Map([
  ['rr', 'rr'],
  ['wrr', 'rr'],
  ['lc', 'lc'],
  ['wlc', 'lc'],
])

const LOOPBACK = '127.0.0.1' as IpAddress

/** A listener that an entry wants, and what the rules have to know about it. */
export interface ClaimedListener extends PointClaim {
  readonly listener: RouteListener
}

export interface Rendered {
  readonly claims: readonly ClaimedListener[]
  /** Objects that several entries may want at once. */
  readonly shared: ReadonlyMap<ObjectKey, Digest>
  /** The route with every wanted listener; other entries may win some of them. */
  readonly route: Route
}

/** Pure: the same entry and settings give the same result. Undefined if nothing of the entry is served here. */
export function render(entry: ForwardingEntry, settings: UserspaceSettings): Rendered | undefined {
  const { protocol } = entry
  const { listening } = settings
  if (protocol === 'SCTP') return undefined
  const claims =
    listening.kind === 'bound'
      ? boundListeners(entry, protocol, listening)
      : redirectedListeners(entry, protocol, listening)
  const shared = presentObjects(
    listening.kind === 'bound'
      ? []
      : healthCheckMembers(entry, servedAddresses(entry, listening), SETS[entry.family]),
  )
  if (claims.length + shared.size === 0) return undefined
  const listeners = claims.map(({ listener }) => listener)
  return { claims, shared, route: routeOf(entry, { protocol, listeners, settings }) }
}

/** `entry/shop/cart:http/TCP/4`: the key of the route for this entry. */
export function entryKey(id: EntryId): ObjectKey {
  return `entry/${id}` as ObjectKey
}

/** The entry that an `entry` key names. */
export function entryIdOf(key: ObjectKey): EntryId {
  return nameOf(key) as EntryId
}

/** Two routes are equal when their digests are. */
export function digestRoute(route: Route): Digest {
  return contentHash(JSON.stringify(route)) as Digest
}

function routeOf(
  entry: ForwardingEntry,
  given: {
    readonly protocol: RouteProtocol
    readonly listeners: readonly RouteListener[]
    readonly settings: UserspaceSettings
  },
): Route {
  const { id, service, family, affinity, proxyProtocol } = entry
  const { protocol, listeners, settings } = given
  return {
    id,
    service,
    protocol,
    family,
    listeners,
    affinity,
    proxyProtocol,
    pools: { cluster: usableBackends(entry, 'cluster'), local: usableBackends(entry, 'local') },
    balancing: balancingOf(entry.scheduler, settings.balancing).balancing,
  }
}

function boundListeners(
  entry: ForwardingEntry,
  protocol: RouteProtocol,
  { bindings }: BoundListening,
): readonly ClaimedListener[] {
  const pools = { others: 'cluster', pods: 'cluster' } as const
  return listeningOf(entry, protocol, bindings)
    .filter(({ ip }) => familyOf(ip) === entry.family)
    .map(({ ip, port }) => ({
      point: memberText({ ip, protocol, port }),
      rank: 0,
      objects: new Map(),
      listener: { ip, port, pools, sourceRanges: undefined },
    }))
}

function redirectedListeners(
  entry: ForwardingEntry,
  protocol: RouteProtocol,
  listening: TransparentListening,
): readonly ClaimedListener[] {
  if (!listening.netfilter.families.includes(entry.family)) return []
  return entry.frontends.flatMap((frontend) =>
    addressesOf(entry, frontend, listening).map((ip): ClaimedListener => {
      const point = { ip, protocol, port: frontend.port }
      return {
        point: memberText(point),
        rank: frontend.ip === 'node' ? 1 : 0,
        objects: presentObjects(memberships(entry, frontend, point)),
        listener: listenerAt(ip, frontend),
      }
    }),
  )
}

function listenerAt(
  ip: IpAddress,
  { port, pool, shortCircuit, sourceRanges }: Frontend,
): RouteListener {
  const pods = shortCircuit ? 'cluster' : pool
  return { ip, port, pools: { others: pool, pods }, sourceRanges }
}

/** A transparent socket serves loopback like any other address, in IPv4, if configured. */
function addressesOf(
  { family }: ForwardingEntry,
  { ip }: Frontend,
  { netfilter, nodeAddresses }: TransparentListening,
): readonly IpAddress[] {
  if (ip !== 'node') return [ip]
  const loopback = family === 4 && servesLoopback(netfilter) ? [LOOPBACK] : []
  return [...addressesOfFamily(nodeAddresses, family), ...loopback]
}

/** What the rules have to know about a listener, as membership in sets. */
function memberships(
  entry: ForwardingEntry,
  frontend: Frontend,
  point: MemberPoint,
): readonly ObjectKey[] {
  const arrival = arrivalAt(entry, frontend)
  const isShortCircuit = arrival.unserved !== undefined && arrival.isShortCircuited
  const ownRoles = isShortCircuit ? (['SHORTCUT'] as const) : []
  return arrivalMembers(arrival, { point, ownRoles }, SETS[entry.family])
}

/** The addresses of this node where the rules serve the entry's family; empty in other cases. */
function servedAddresses(
  { family }: ForwardingEntry,
  { netfilter, nodeAddresses }: TransparentListening,
): readonly IpAddress[] {
  return netfilter.families.includes(family) ? nodeAddresses : []
}

function presentObjects(keys: readonly ObjectKey[]): ReadonlyMap<ObjectKey, Digest> {
  return new Map(keys.map((key) => [key, PRESENT]))
}

/** How the data path balances one Service. */
interface BalancingChoice {
  readonly balancing: Balancing
  /** False if the Service names a scheduler that only IPVS has. */
  readonly isKnown: boolean
}

/** The scheduler that a Service names, if this mode has it; else the configured one. */
export function balancingOf(scheduler: string | undefined, fallback: Balancing): BalancingChoice {
  if (scheduler === undefined) return { balancing: fallback, isKnown: true }
  const balancing = BALANCINGS.get(scheduler)
  return { balancing: balancing ?? fallback, isKnown: balancing !== undefined }
}
