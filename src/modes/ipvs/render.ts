import type { ForwardingEntry, Frontend, Masquerade, Pool } from '../../forwarding/entry.ts'
import { type Cidr, cidrContains, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import {
  addressesOfFamily,
  arrivalAt,
  arrivalMembers,
  healthCheckMembers,
  usableBackends,
} from '../netfilter/arrival.ts'
import { servesLoopback } from '../netfilter/node-ports.ts'
import { PRESENT } from '../netfilter/object-key.ts'
import type { PointClaim } from '../netfilter/wanted-objects.ts'
import { SETS, type SetRole } from './objects/names.ts'
import { type Point, pointText, relayKey, serverKey } from './objects/object.ts'
import { digestOf, flagsOf, type ServerSpec, scheduledBy, specText } from './servers/server-spec.ts'
import type { IpvsSettings } from './settings.ts'

export interface Rendered {
  readonly claims: readonly PointClaim[]
  /** Objects that several entries may want at once. */
  readonly shared: ReadonlyMap<ObjectKey, Digest>
  /** Content of the virtual servers among the objects. */
  readonly servers: ReadonlyMap<ObjectKey, ServerSpec>
}

/** Whether the entry needs a virtual server of its own for pods and processes of this node. */
export function needsMark(entry: ForwardingEntry): boolean {
  return entry.frontends.some((frontend) => arrivalAt(entry, frontend).isShortCircuited)
}

/** Pure: the same entry, settings and mark give the same objects, in any history. */
export function render(
  entry: ForwardingEntry,
  settings: IpvsSettings,
  mark: number | undefined,
): Rendered {
  const servers = new Map<ObjectKey, ServerSpec>()
  const shared = new Map<ObjectKey, Digest>()
  const claims = entry.frontends.flatMap((frontend) =>
    pointsOf(entry, frontend, settings).map((point): PointClaim => {
      const objects = new Map(memberships(entry, frontend, { point, mark }))
      const spec = specOf(entry, frontend.pool, settings)
      if (spec) wantServer(serverKey(point), spec, { objects, servers })
      if (frontend.ip !== 'node')
        shared.set(SETS[entry.family].memberKey('VIPS', point.ip), PRESENT)
      return { point: pointText(point), rank: frontend.ip === 'node' ? 1 : 0, objects }
    }),
  )
  if (mark !== undefined) {
    const spec = specOf(entry, 'cluster', settings)
    const key = serverKey({ family: entry.family, mark })
    if (spec) wantServer(key, hashed(spec), { objects: shared, servers })
  }
  const checks = healthCheckMembers(entry, settings.nodeAddresses, SETS[entry.family])
  for (const key of [...checks, ...relays(entry, settings)]) shared.set(key, PRESENT)
  return { claims, shared, servers }
}

interface Wanting {
  readonly objects: Map<ObjectKey, Digest>
  readonly servers: Map<ObjectKey, ServerSpec>
}

/**
 * The first frontend with a key wins. Frontends are sorted, node ports last, so an explicit address of this node wins
 * over a node port.
 */
function wantServer(key: ObjectKey, spec: ServerSpec, { objects, servers }: Wanting): void {
  objects.set(key, digestOf(specText(spec)))
  if (!servers.has(key)) servers.set(key, spec)
}

function pointsOf(
  { family, protocol }: ForwardingEntry,
  { ip, port }: Frontend,
  settings: IpvsSettings,
): readonly Point[] {
  const addresses = ip === 'node' ? addressesOfFamily(settings.nodeAddresses, family) : [ip]
  return addresses
    .filter((address) => !isExcluded(address, settings))
    .map((address) => ({ family, protocol, ip: address, port }))
}

function isExcluded(address: IpAddress, { excludeCIDRs }: IpvsSettings): boolean {
  return excludeCIDRs.some((cidr) => holds(cidr, address))
}

function holds(cidr: Cidr, ip: IpAddress): boolean {
  return familyOf(cidr) === familyOf(ip) && cidrContains(cidr, ip)
}

/**
 * What the rules have to know about a point, as membership in sets. Where pods take the cluster pool nothing is
 * rejected: the rule for it is in INPUT and would reject pods as well.
 */
function memberships(
  entry: ForwardingEntry,
  frontend: Frontend,
  { point, mark }: { readonly point: Point; readonly mark: number | undefined },
): readonly (readonly [ObjectKey, Digest])[] {
  const sets = SETS[entry.family]
  const arrival = arrivalAt(entry, frontend)
  const shortCircuit = arrival.isShortCircuited ? mark : undefined
  const unserved = arrival.unserved && shortCircuit !== undefined ? 'drop' : arrival.unserved
  const ownRoles = MASQUERADE_ROLES[frontend.masquerade]
  const keys = arrivalMembers({ ...arrival, unserved }, { point, ownRoles }, sets)
  const members = keys.map((key) => [key, PRESENT] as const)
  if (shortCircuit === undefined) return members
  return [...members, [sets.memberKey('SHORTCUT', pointText(point)), shortCircuit as Digest]]
}

/** Sources outside the cluster are masqueraded by a rule, without a set. */
const MASQUERADE_ROLES = {
  always: ['MASQUERADE'],
  onNode: ['ONNODE'],
  offCluster: [],
} as const satisfies Readonly<Record<Masquerade, readonly SetRole[]>>

/** Undefined if there is no backend: then there is no virtual server. */
function specOf(
  entry: ForwardingEntry,
  pool: Pool,
  settings: IpvsSettings,
): ServerSpec | undefined {
  const backends = usableBackends(entry, pool)
  if (backends.length === 0) return undefined
  const scheduler = entry.scheduler ?? settings.scheduler
  return {
    settings: { scheduler, flags: flagsOf(scheduler), persistence: persistenceOf(entry) },
    servers: backends.map(({ ip, port, weight }) => ({
      ip,
      port,
      weight,
      forwarding: 'masquerade' as const,
      upperThreshold: 0,
      lowerThreshold: 0,
    })),
  }
}

/**
 * A persistent virtual server that is identified by a mark sends to the port that the client used, regardless of the
 * ports of its real servers (ip_vs_sched_persist). The scheduler sh is used instead: it also keeps a client at its
 * backend as long as the backends stay the same.
 */
function hashed(spec: ServerSpec): ServerSpec {
  const { settings, servers } = spec
  if (settings.persistence === undefined) return spec
  return scheduledBy({ settings: { ...settings, persistence: undefined }, servers }, 'sh')
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

/** Whether a process of this node can reach a backend. */
function isServed(entry: ForwardingEntry, frontend: Frontend): boolean {
  const { unserved, isShortCircuited } = arrivalAt(entry, frontend)
  return frontend.shortCircuit ? isShortCircuited : unserved === undefined
}

/** The address that relays connect to; undefined if there are no relays. */
export function relayTarget(settings: IpvsSettings): IpAddress | undefined {
  if (!servesLoopback(settings.netfilter)) return undefined
  return addressesOfFamily(settings.nodeAddresses, 4).find(
    (address) => !isExcluded(address, settings),
  )
}

/** Affinity as IPVS persistence: its timeout, and the prefix length that identifies a client. */
export interface Persistence {
  readonly seconds: number
  readonly prefix: number
}

/**
 * The prefix is the whole address, so that clients of one subnet do not share a template. Undefined without affinity.
 */
export function persistenceOf({ affinity, family }: ForwardingEntry): Persistence | undefined {
  return affinity && { seconds: affinity.seconds, prefix: family === 4 ? 32 : 128 }
}
