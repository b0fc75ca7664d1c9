import { persistenceOf } from '../../affinity/persistence.ts'
import type { Backend, ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import { memberText } from '../../kernel/ipset/sets.ts'
import { type Cidr, cidrContains, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { servesLoopback } from '../netfilter/node-ports.ts'
import { memberKey, PRESENT } from '../netfilter/object-key.ts'
import { asMembers } from '../netfilter/source-range.ts'
import { type Point, pointText } from './objects/member.ts'
import { type SetRole, setName } from './objects/names.ts'
import { relayKey, serverKey } from './objects/object.ts'
import { digestText, flagsOf, type ServerSpec, specText } from './servers/server-spec.ts'
import type { IpvsSettings } from './settings.ts'

/** What one entry wants at one point. A point that two entries claim goes to the lower rank. */
export interface Place {
  readonly point: Point
  /** 0: the address was named; 1: it is one of this node's addresses. */
  readonly rank: 0 | 1
  readonly objects: ReadonlyMap<ObjectKey, Digest>
}

export interface Rendered {
  readonly places: readonly Place[]
  /** Wanted whoever else wants it too. */
  readonly shared: ReadonlyMap<ObjectKey, Digest>
  /** Content of the virtual servers among the objects. */
  readonly servers: ReadonlyMap<ObjectKey, ServerSpec>
}

/** Whether the entry needs a virtual server of its own for pods and processes of this node. */
export function needsMark(entry: ForwardingEntry): boolean {
  return usable(entry, 'cluster').length > 0 && entry.frontends.some((each) => each.shortCircuit)
}

/** Pure: the same entry, settings and mark give the same objects, in any history. */
export function render(
  entry: ForwardingEntry,
  settings: IpvsSettings,
  mark: number | undefined,
): Rendered {
  const servers = new Map<ObjectKey, ServerSpec>()
  const shared = new Map<ObjectKey, Digest>()
  const places = entry.frontends.flatMap((frontend) =>
    pointsOf(entry, frontend, settings).map((point): Place => {
      const objects = new Map(memberships(entry, frontend, { point, mark }))
      const spec = specOf(entry, frontend.pool, settings)
      if (spec) wantServer(serverKey(point), spec, { objects, servers })
      if (frontend.ip !== 'node') shared.set(vipKey(point), PRESENT)
      return { point, rank: frontend.ip === 'node' ? 1 : 0, objects }
    }),
  )
  if (mark !== undefined) {
    const spec = specOf(entry, 'cluster', settings)
    const key = serverKey({ family: entry.family, mark })
    if (spec) wantServer(key, spec, { objects: shared, servers })
  }
  for (const key of [...healthChecks(entry, settings), ...relays(entry, settings)]) {
    shared.set(key, PRESENT)
  }
  return { places, shared, servers }
}

interface Wanting {
  readonly objects: Map<ObjectKey, Digest>
  readonly servers: Map<ObjectKey, ServerSpec>
}

/** Frontends are sorted, node ports last: a named address of this node comes before them. */
function wantServer(key: ObjectKey, spec: ServerSpec, { objects, servers }: Wanting): void {
  objects.set(key, digestText(specText(spec)))
  if (!servers.has(key)) servers.set(key, spec)
}

function pointsOf(
  { family, protocol }: ForwardingEntry,
  { ip, port }: Frontend,
  settings: IpvsSettings,
): readonly Point[] {
  const addresses = ip === 'node' ? ofFamily(settings.nodeAddresses, family) : [ip]
  return addresses
    .filter((address) => !isExcluded(address, settings))
    .map((address) => ({ family, protocol, ip: address, port }))
}

function isExcluded(address: IpAddress, { excludeCIDRs }: IpvsSettings): boolean {
  return excludeCIDRs.some((cidr) => holds(cidr, address))
}

function ofFamily(addresses: readonly IpAddress[], family: number): readonly IpAddress[] {
  return addresses.filter((address) => familyOf(address) === family)
}

function holds(cidr: Cidr, ip: IpAddress): boolean {
  return familyOf(cidr) === familyOf(ip) && cidrContains(cidr, ip)
}

/**
 * What the rules have to know about a point, as membership in sets. Where pods take the
 * cluster pool nothing is refused: INPUT, where that happens, would refuse pods as well.
 */
function memberships(
  entry: ForwardingEntry,
  frontend: Frontend,
  { point, mark }: { readonly point: Point; readonly mark: number | undefined },
): readonly (readonly [ObjectKey, Digest])[] {
  const isEmpty = usable(entry, frontend.pool).length === 0
  const isShortCircuit = frontend.shortCircuit && mark !== undefined
  const answer = isShortCircuit ? 'drop' : entry.whenEmpty[frontend.pool]
  const roles: readonly (readonly [SetRole, boolean])[] = [
    ['SERVICES', true],
    ['MASQUERADE', frontend.masquerade === 'always'],
    ['ONNODE', frontend.masquerade === 'onNode'],
    ['RANGED', frontend.sourceRanges !== undefined],
    ['REJECT', isEmpty && answer === 'reject'],
    ['DROP', isEmpty && answer === 'drop'],
  ]
  const text = pointText(point)
  const inSet = (role: SetRole) => memberKey(setName(entry.family, role), text)
  return [
    ...roles.filter(([, isIn]) => isIn).map(([role]) => [inSet(role), PRESENT] as const),
    ...allowed(entry, frontend, point).map((key) => [key, PRESENT] as const),
    ...(isShortCircuit ? [[inSet('SHORTCUT'), mark as Digest] as const] : []),
  ]
}

function allowed(
  { family }: ForwardingEntry,
  { sourceRanges = [] }: Frontend,
  { ip, protocol, port }: Point,
): readonly ObjectKey[] {
  return sourceRanges
    .flatMap(asMembers)
    .map((net) => memberKey(setName(family, 'ALLOWED'), memberText({ ip, protocol, port, net })))
}

function vipKey({ family, ip }: Point): ObjectKey {
  return memberKey(setName(family, 'VIPS'), ip)
}

/** Undefined: nothing to send to, so there is no virtual server. */
function specOf(
  entry: ForwardingEntry,
  pool: Pool,
  settings: IpvsSettings,
): ServerSpec | undefined {
  const backends = usable(entry, pool)
  if (backends.length === 0) return undefined
  const scheduler = entry.scheduler ?? settings.scheduler
  return {
    settings: { scheduler, flags: flagsOf(scheduler), persistence: persistenceOf(entry) },
    servers: backends.map(({ ip, port, weight }) => ({
      ...{ ip, port, weight, forwarding: 'masquerade' as const },
      ...{ upperThreshold: 0, lowerThreshold: 0 },
    })),
  }
}

/** Weight 0 means no new connections: such a backend is as good as gone. */
function usable({ pools }: ForwardingEntry, pool: Pool): readonly Backend[] {
  return pools[pool].filter(({ weight }) => weight > 0)
}

function healthChecks(
  { family, healthCheckPort: port }: ForwardingEntry,
  { nodeAddresses }: IpvsSettings,
): readonly ObjectKey[] {
  if (port === undefined) return []
  return ofFamily(nodeAddresses, family).map((ip) =>
    memberKey(setName(family, 'ADMIT'), memberText({ ip, protocol: 'TCP', port })),
  )
}

/**
 * Node ports on 127.0.0.1. IPVS sends nothing with a loopback source to another
 * host, so this process listens there and passes on to the node's own address.
 */
function relays(entry: ForwardingEntry, settings: IpvsSettings): readonly ObjectKey[] {
  const { family, protocol, frontends } = entry
  if (family === 6 || protocol === 'SCTP' || relayTarget(settings) === undefined) return []
  return frontends
    .filter((frontend) => frontend.ip === 'node' && isServed(entry, frontend))
    .map(({ port }) => relayKey(protocol, port))
}

/** Whether a process of this node gets through to a backend. */
function isServed(entry: ForwardingEntry, { pool, shortCircuit }: Frontend): boolean {
  return usable(entry, shortCircuit ? 'cluster' : pool).length > 0
}

/** Where relays connect to; undefined: there are none. */
export function relayTarget(settings: IpvsSettings): IpAddress | undefined {
  if (!servesLoopback(settings.netfilter)) return undefined
  return ofFamily(settings.nodeAddresses, 4).find((address) => !isExcluded(address, settings))
}
