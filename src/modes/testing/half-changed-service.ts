import fc from 'fast-check'
import type { EntryId, ForwardingEntry, Frontend } from '../../forwarding/entry.ts'
import type { Family, IpAddress } from '../../lib/ip.ts'
import { backend, cidr, entry, frontend, ip } from './mode-fixtures.ts'

/** As many as the choices that a Service has at most. */
export const CHOICES = 4

/** A Service as it is before or after a change; undefined: there is none. */
export const someService = fc.option(
  fc.record({
    weights: fc
      .array(fc.constantFrom<number>(0, 1, 1, 2), { maxLength: 3 })
      .filter((weights) => weights.reduce((sum, weight) => sum + weight, 0) <= CHOICES),
    /** Another set of Pods, as after a rollout. */
    pods: fc.nat(1),
    isLocal: fc.boolean(),
    isLimited: fc.boolean(),
    isSticky: fc.boolean(),
    hasNodePort: fc.boolean(),
    hasExternalIP: fc.boolean(),
    drops: fc.boolean(),
    /** Two Services may claim the same addresses one after the other. */
    name: fc.nat(1),
  }),
  { nil: undefined },
)
export type ChangingService = NonNullable<
  typeof someService extends fc.Arbitrary<infer T> ? T : never
>

/** A node, its Pods and its clients in one family. */
export interface Addresses {
  readonly family: Family
  readonly cluster: string
  readonly external: string
  readonly node: string
  readonly pod: string
  readonly client: string
  readonly excluded: string
  readonly range: string
  readonly backends: readonly string[]
}

export const V4: Addresses = {
  family: 4,
  cluster: '172.30.0.1',
  external: '1.2.3.4',
  node: '192.0.2.1',
  pod: '10.1.2.3',
  client: '198.51.100.7',
  excluded: '203.0.113.9',
  range: '198.51.100.0/24',
  backends: ['10.180.0.1', '10.180.0.2', '10.180.0.3', '10.180.0.4', '10.180.0.5'],
}
export const V6: Addresses = {
  family: 6,
  cluster: 'fd00:30::1',
  external: '2001:db8::4',
  node: 'fd00:77::1',
  pod: 'fd00:180::99',
  client: '2001:db8:1::7',
  excluded: '2001:db8:2::9',
  range: '2001:db8:1::/48',
  backends: [1, 2, 3, 4, 5].map((n) => `fd00:180::${n}`),
}

/** Who is a Pod there. */
export function podsOf({ family }: Addresses) {
  const pods = family === 4 ? '10.0.0.0/8' : 'fd00:180::/64'
  return { by: 'source', cidrs: [cidr(pods)] } as const
}

/** The Service as this node forwards it. */
export function entryOf(given: ChangingService, at: Addresses): ForwardingEntry {
  const cluster = given.weights.map((weight, n) =>
    backend(at.backends[n + given.pods]!, { weight, local: (n + given.pods) % 2 === 0 }),
  )
  const outside: Partial<Frontend> = given.isLocal
    ? { pool: 'local', shortCircuit: true, masquerade: 'onNode' }
    : { masquerade: 'always' }
  const ranges = given.isLimited ? { sourceRanges: [cidr(at.range)] } : {}
  return entry({
    id: `shop/s${given.name}:http/TCP/${at.family}` as EntryId,
    family: at.family,
    frontends: [
      frontend({ ip: ip(at.cluster) }),
      ...(given.hasExternalIP
        ? [frontend({ kind: 'loadBalancerIP', ip: ip(at.external), ...outside, ...ranges })]
        : []),
      ...(given.hasNodePort
        ? [frontend({ kind: 'nodePort', ip: 'node', port: 30_080, ...outside })]
        : []),
    ],
    pools: { cluster, local: cluster.filter(({ local }) => local) },
    whenEmpty: given.drops
      ? { cluster: 'reject', local: 'drop' }
      : { cluster: 'reject', local: 'reject' },
    affinity: given.isSticky ? { seconds: 60 } : undefined,
  })
}

/** The first packet of a TCP connection. */
export interface FirstPacket {
  readonly family: Family
  readonly from: IpAddress
  readonly to: IpAddress
  readonly port: number
  readonly localAddresses: ReadonlySet<string>
}

/** From everyone to each address of the Service. */
export function packetsOf(at: Addresses): readonly FirstPacket[] {
  const targets = [
    [at.cluster, 80],
    [at.external, 80],
    [at.node, 30_080],
  ] as const
  return [at.pod, at.node, at.client, at.excluded].flatMap((from) =>
    targets.map(([to, port]) => ({
      family: at.family,
      from: ip(from),
      to: ip(to),
      port,
      localAddresses: new Set([at.node]),
    })),
  )
}

/** Follows the address of a backend that sees the node as the client. */
export const MASQUERADED = ' masqueraded'

/** The ends of a packet that reaches no backend. */
const UNSERVED = ['rejected', 'dropped', 'passed']

/** What is known of a change for one packet. */
export interface JudgedChange {
  readonly entries: readonly (ForwardingEntry | undefined)[]
  /** Where the packet may end before the change, and after it. */
  readonly ends: readonly string[]
}

/**
 * Whether a packet that is at work during a change may end so: as before or as after; unserved where one of both does
 * not serve it; or, by the verdict of one and the choice of the other, at a backend of one of both whose replies come back
 * to this node: those of Pods here do, and those of others where the source is a Pod here, the node, or masqueraded. A
 * source that neither of both masquerades keeps its address.
 */
export function judge(
  { entries, ends }: JudgedChange,
  at: Addresses,
  packet: FirstPacket,
): (end: string) => boolean {
  const isServed = ends.every((end) => !UNSERVED.includes(end))
  const expected = new Set(isServed ? ends : [...ends, ...UNSERVED])
  const backends = entries.flatMap((one) => one?.pools.cluster ?? [])
  const isEverMasqueraded =
    ends.some((end) => end.endsWith(MASQUERADED)) || (!isServed && entries.some(isMasqueraded))
  const isInside = packet.from === at.pod || packet.from === at.node
  return (end) => {
    if (expected.has(end)) return true
    const target = end.replace(MASQUERADED, '')
    const reached = backends.filter((one) => one.weight > 0 && hostPortOf(one) === target)
    if (reached.length === 0) return false
    if (end.endsWith(MASQUERADED)) return isEverMasqueraded
    return isInside || reached.every(({ local }) => local)
  }
}

/** Whether a frontend of the entry hides clients outside, be there backends or not. */
function isMasqueraded(one: ForwardingEntry | undefined): boolean {
  return one?.frontends.some(({ masquerade }) => masquerade === 'always') ?? false
}

function hostPortOf({ ip: host, port }: { readonly ip: IpAddress; readonly port: number }): string {
  return `${host}:${port}`
}
