import fc from 'fast-check'
import type {
  EntryId,
  ForwardingEntry,
  Frontend,
  ServiceKey,
} from '../../../../src/forwarding/entry.ts'
import type { Family, IpAddress } from '../../../../src/lib/ip.ts'
import {
  AFFINITIES,
  backend,
  cidr,
  entry,
  frontend,
  ip,
} from '../../../../src/modes/testing/mode-fixtures.ts'

/** The most choices that a Service has. */
export const CHOICES = 4

/** The number of fields of a Service of `someService`. */
const FIELDS = 10
const NODE_PORTS = [30_080, 30_081] as const

/** A Service before or after a change; undefined: there is none. */
export const someService = fc.option(
  fc.record({
    weights: fc
      .array(fc.constantFrom<number>(0, 1, 1, 2), { maxLength: 3 })
      .filter((weights) => weights.reduce((sum, weight) => sum + weight, 0) <= CHOICES),
    /** Another set of Pods, as after a rollout. */
    pods: fc.nat(1),
    isLocal: fc.boolean(),
    isLimited: fc.boolean(),
    affinity: fc.constantFrom(...AFFINITIES),
    hasNodePort: fc.boolean(),
    /** Which one of `NODE_PORTS`. */
    nodePort: fc.nat(1),
    hasExternalIP: fc.boolean(),
    drops: fc.boolean(),
    /** Two Services may claim the same addresses one after the other. */
    name: fc.nat(1),
  }),
  { nil: undefined },
)

/** A Service of `someService`. */
export type SomeService = NonNullable<typeof someService extends fc.Arbitrary<infer T> ? T : never>

/** A Service before and after a change of everything, or of a few fields. */
export const someChange = fc
  .tuple(someService, someService, fc.array(fc.boolean(), { minLength: FIELDS, maxLength: FIELDS }))
  .map(([before, other, isKept]): readonly [SomeService | undefined, SomeService | undefined] => {
    if (before === undefined || other === undefined || isKept.every(Boolean)) return [before, other]
    const kept = Object.entries(before).filter((_, field) => isKept[field] === true)
    return [before, { ...other, ...Object.fromEntries(kept) }]
  })

/** The addresses of one family, of a node with Pods and of a Service. */
export interface Addresses {
  readonly family: Family
  readonly cluster: string
  /** The Service range, with `cluster` in it. */
  readonly services: string
  readonly external: string
  readonly node: string
  readonly pod: string
  readonly client: string
  readonly excluded: string
  /** The source range that a limited Service admits, with `client` in it. */
  readonly range: string
  readonly backends: readonly string[]
  /** The network of all Pods. */
  readonly pods: string
}

export const V4: Addresses = {
  family: 4,
  cluster: '172.30.0.1',
  services: '172.30.0.0/16',
  external: '1.2.3.4',
  node: '192.0.2.1',
  pod: '10.1.2.3',
  client: '198.51.100.7',
  excluded: '203.0.113.9',
  range: '198.51.100.0/24',
  backends: ['10.180.0.1', '10.180.0.2', '10.180.0.3', '10.180.0.4', '10.180.0.5'],
  pods: '10.0.0.0/8',
}
export const V6: Addresses = {
  family: 6,
  cluster: 'fd00:30::1',
  services: 'fd00:30::/112',
  external: '2001:db8::4',
  node: 'fd00:77::1',
  pod: 'fd00:180::99',
  client: '2001:db8:1::7',
  excluded: '2001:db8:2::9',
  range: '2001:db8:1::/48',
  backends: [1, 2, 3, 4, 5].map((n) => `fd00:180::${n}`),
  pods: 'fd00:180::/64',
}

/** The forwarding entry of a Service at these addresses. */
export function entryOf(given: SomeService, at: Addresses): ForwardingEntry {
  const cluster = given.weights.map((weight, n) =>
    backend(at.backends[n + given.pods]!, { weight, local: (n + given.pods) % 2 === 0 }),
  )
  const outside: Partial<Frontend> = given.isLocal
    ? { pool: 'local', shortCircuit: true, masquerade: 'onNode' }
    : { masquerade: 'always' }
  const ranges = given.isLimited ? { sourceRanges: [cidr(at.range)] } : {}
  return entry({
    id: `shop/s${given.name}:http/TCP/${at.family}` as EntryId,
    service: `shop/s${given.name}` as ServiceKey,
    family: at.family,
    frontends: [
      frontend({ ip: ip(at.cluster) }),
      ...(given.hasExternalIP
        ? [frontend({ kind: 'loadBalancerIP', ip: ip(at.external), ...outside, ...ranges })]
        : []),
      ...(given.hasNodePort
        ? [
            frontend({
              kind: 'nodePort',
              ip: 'node',
              port: NODE_PORTS[given.nodePort]!,
              ...outside,
            }),
          ]
        : []),
    ],
    pools: { cluster, local: cluster.filter(({ local }) => local) },
    whenEmpty: given.drops
      ? { cluster: 'reject', local: 'drop' }
      : { cluster: 'reject', local: 'reject' },
    affinity: given.affinity,
  })
}

/** The addresses of other Services of the same node; at most 250. */
export function neighboursOf(at: Addresses, count: number): readonly Addresses[] {
  return Array.from({ length: count }, (_, n) => ({
    ...at,
    cluster: at.family === 4 ? `172.30.1.${n}` : `fd00:30::1:${n.toString(16)}`,
    external: at.family === 4 ? `1.2.4.${n}` : `2001:db8::5:${n.toString(16)}`,
  }))
}

/** The Pods of these addresses, for the settings of a mode. */
export function podsOf({ pods }: Addresses) {
  return { by: 'source', cidrs: [cidr(pods)] } as const
}

/** The first packet of a TCP connection. */
export interface Packet {
  readonly from: IpAddress
  readonly to: IpAddress
  readonly port: number
}

/** A packet of each kind of client to each kind of frontend. */
export function packetsOf(
  at: Addresses,
  clients: readonly string[] = [at.pod, at.node, at.client, at.excluded],
): readonly Packet[] {
  const targets = [
    [at.cluster, 80],
    [at.external, 80],
    ...NODE_PORTS.map((port) => [at.node, port] as const),
  ] as const
  return clients.flatMap((from) =>
    targets.map(([to, port]) => ({ from: ip(from), to: ip(to), port })),
  )
}
