import type { Backend, ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import { memberText } from '../../kernel/ipset/sets.ts'
import { contentHash } from '../../lib/hash.ts'
import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { servesLoopback } from '../netfilter/node-ports.ts'
import { memberKey, PRESENT } from '../netfilter/object-key.ts'
import { asMembers } from '../netfilter/source-range.ts'
import type { Claim } from '../netfilter/wanted-objects.ts'
import { balancingOf } from './balancing.ts'
import { listeningOf } from './binding.ts'
import { type SetRole, setName } from './names.ts'
import type { Route, RouteListener, RouteProtocol } from './route.ts'
import type { BoundListening, TransparentListening, UserspaceSettings } from './settings.ts'

const LOOPBACK = '127.0.0.1' as IpAddress

/** A listener that an entry wants, and what the rules have to know about it. */
export interface ClaimedListener extends Claim {
  readonly listener: RouteListener
}

export interface Rendered {
  readonly claims: readonly ClaimedListener[]
  /** Wanted even when other entries want it too. */
  readonly shared: ReadonlyMap<ObjectKey, Digest>
  /** With every listener that is wanted; other entries may have some of them. */
  readonly route: Route
}

/** Pure: the same entry and settings give the same. Undefined: nothing of it is served here. */
export function render(entry: ForwardingEntry, settings: UserspaceSettings): Rendered | undefined {
  const { protocol } = entry
  const { listening } = settings
  if (protocol === 'SCTP') return undefined
  const claims =
    listening.kind === 'bound'
      ? boundListeners(entry, protocol, listening)
      : redirectedListeners(entry, protocol, listening)
  const shared = listening.kind === 'bound' ? new Map() : healthChecks(entry, listening)
  if (claims.length + shared.size === 0) return undefined
  const listeners = claims.map(({ listener }) => listener)
  return { claims, shared, route: routeOf(entry, { protocol, listeners, settings }) }
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
  const { id, service, family, draining, affinity, proxyProtocol } = entry
  const { protocol, listeners, settings } = given
  return {
    ...{ id, service, protocol, family, listeners, draining, affinity, proxyProtocol },
    pools: { cluster: usable(entry, 'cluster'), local: usable(entry, 'local') },
    balancing: balancingOf(entry.scheduler, settings.balancing).balancing,
  }
}

/** Weight 0 means no new connections: such a backend is as good as gone. */
function usable({ pools }: ForwardingEntry, pool: Pool): readonly Backend[] {
  return pools[pool].filter(({ weight }) => weight > 0)
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
      ...{ point: memberText({ ip, protocol, port }), rank: 0, objects: new Map() },
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
      const listener = listenerAt(ip, frontend)
      return {
        point: memberText({ ip, protocol, port: frontend.port }),
        rank: frontend.ip === 'node' ? 1 : 0,
        objects: new Map(memberships(entry, protocol, listener).map((key) => [key, PRESENT])),
        listener,
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

/** A transparent socket serves loopback as any other address, in IPv4, where it is configured. */
function addressesOf(
  { family }: ForwardingEntry,
  { ip }: Frontend,
  { netfilter, nodeAddresses }: TransparentListening,
): readonly IpAddress[] {
  if (ip !== 'node') return [ip]
  const loopback = family === 4 && servesLoopback(netfilter) ? [LOOPBACK] : []
  return [...ofFamily(nodeAddresses, family), ...loopback]
}

function ofFamily(addresses: readonly IpAddress[], family: Family): readonly IpAddress[] {
  return addresses.filter((address) => familyOf(address) === family)
}

/** What the rules have to know about a listener, as membership in sets. */
function memberships(
  entry: ForwardingEntry,
  protocol: RouteProtocol,
  { ip, port, pools, sourceRanges }: RouteListener,
): readonly ObjectKey[] {
  const isEmpty = usable(entry, pools.others).length === 0
  const answer = entry.whenEmpty[pools.others]
  const roles: readonly (readonly [SetRole, boolean])[] = [
    ['SERVICES', true],
    ['RANGED', sourceRanges !== undefined],
    ['SHORTCUT', isEmpty && usable(entry, pools.pods).length > 0],
    ['REJECT', isEmpty && answer === 'reject'],
    ['DROP', isEmpty && answer === 'drop'],
  ]
  const inSet = (role: SetRole, text: string) => memberKey(setName(entry.family, role), text)
  const point = memberText({ ip, protocol, port })
  return [
    ...roles.filter(([, isIn]) => isIn).map(([role]) => inSet(role, point)),
    ...(sourceRanges ?? [])
      .flatMap(asMembers)
      .map((net) => inSet('ALLOWED', memberText({ ip, protocol, port, net }))),
  ]
}

function healthChecks(
  { family, healthCheckPort: port }: ForwardingEntry,
  { netfilter, nodeAddresses }: TransparentListening,
): ReadonlyMap<ObjectKey, Digest> {
  if (port === undefined || !netfilter.families.includes(family)) return new Map()
  const texts = ofFamily(nodeAddresses, family).map((ip) =>
    memberText({ ip, protocol: 'TCP', port }),
  )
  return new Map(texts.map((text) => [memberKey(setName(family, 'ADMIT'), text), PRESENT]))
}
