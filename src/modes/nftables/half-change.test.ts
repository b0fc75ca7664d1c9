import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry, Frontend } from '../../forwarding/entry.ts'
import type { Element } from '../../kernel/nftables/objects.ts'
import type { Family } from '../../lib/ip.ts'
import { backend, cidr, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { address, backendData } from './keys/encode.ts'
import { NftablesProgram } from './program/program.ts'
import { type Packet, type Tables, tablesOf, walk, withClients } from './testing/packet-walk.ts'

/** Each takes some tens of milliseconds. */
const RUNS = Number(process.env['NP_HISTORIES'] ?? 60)
/** As many as the choices that a Service has at most. */
const CHOICES = 4

/** A Service as it is before or after a change; undefined: there is none. */
const someService = fc.option(
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
type Service = NonNullable<typeof someService extends fc.Arbitrary<infer T> ? T : never>

interface Addresses {
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

const V4: Addresses = {
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
const V6: Addresses = {
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

function entryOf(given: Service, at: Addresses): ForwardingEntry {
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

/** A Service, and the tables that it makes. */
interface State {
  readonly entry: ForwardingEntry | undefined
  /** With the client and the Pod as clients that are remembered, with a backend on this node. */
  readonly remembered: Tables
  readonly fresh: Tables
}

function stateOf(given: Service | undefined, at: Addresses): State {
  const program = new NftablesProgram(settings({ localTraffic: podsOf(at), families: [at.family] }))
  const one = given && entryOf(given, at)
  if (one) program.replace(one.id, one)
  const first = one?.pools.cluster.find(({ weight, local }) => weight > 0 && local)
  const clients: Element[] = []
  if (first && at.family === 4) {
    for (const from of [at.pod, at.client]) {
      clients.push({ key: address(ip(from)), data: backendData(first) })
    }
  }
  const fresh = tablesOf(program, at.family)
  return { entry: one, fresh, remembered: withClients(fresh, clients) }
}

function podsOf({ family }: Addresses) {
  const pods = family === 4 ? '10.0.0.0/8' : 'fd00:180::/64'
  return { by: 'source', cidrs: [cidr(pods)] } as const
}

function packetsOf(at: Addresses): readonly Packet[] {
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

const choices = Array.from({ length: CHOICES }, (_, index) => (modulus: number) => index % modulus)

/** Where a packet may end while the tables do not change. */
function endsIn({ remembered, fresh }: State, packet: Packet): readonly string[] {
  return [remembered, fresh].flatMap((tables) => {
    const still = { before: tables, after: tables, flipAt: 0, losesReplaced: false }
    return choices.map((choose) => walk(packet, { ...still, choose }).end)
  })
}

type Change = readonly [before: State, after: State]

/** The ends of a packet that reaches no backend. */
const UNSERVED = ['rejected', 'dropped', 'passed']
const MASQUERADED = ' masqueraded'

/**
 * Whether a packet that is at work while the tables change may end so: as before or as after; unserved where one of both does
 * not serve it; or, by the verdict of one and the choice of the other, at a backend of one of both whose replies come back
 * to this node: those of Pods here do, and those of others where the source is a Pod here, the node, or masqueraded. A
 * source that neither of both masquerades keeps its address.
 */
function judge(change: Change, at: Addresses, packet: Packet): (end: string) => boolean {
  const ends = change.flatMap((state) => endsIn(state, packet))
  const isServed = ends.every((end) => !UNSERVED.includes(end))
  const expected = new Set(isServed ? ends : [...ends, ...UNSERVED])
  const backends = change.flatMap(({ entry: one }) => one?.pools.cluster ?? [])
  const isEverMasqueraded = ends.some((end) => end.endsWith(MASQUERADED))
  const isInside = packet.from === at.pod || packet.from === at.node
  return (end) => {
    if (expected.has(end)) return true
    const target = end.replace(MASQUERADED, '')
    const reached = backends.filter((one) => one.weight > 0 && `${one.ip}:${one.port}` === target)
    if (reached.length === 0) return false
    if (end.endsWith(MASQUERADED)) return isEverMasqueraded
    return isInside || reached.every(({ local }) => local)
  }
}

function strangeEnds(change: Change, at: Addresses, packet: Packet): readonly string[] {
  const mayEnd = judge(change, at, packet)
  const [{ remembered: before }, { remembered: after }] = change
  const strange: string[] = []
  for (const choose of choices) {
    for (const losesReplaced of [false, true]) {
      for (let flipAt = 0, readings = 0; flipAt <= readings; flipAt++) {
        const result = walk(packet, { before, after, flipAt, losesReplaced, choose })
        readings = result.readings
        if (mayEnd(result.end)) continue
        strange.push(`${packet.from} to ${packet.to}, change at reading ${flipAt}: ${result.end}`)
      }
    }
  }
  return strange
}

test.each([
  ['IPv4', V4],
  ['IPv6', V6],
])('a packet of %s that meets half a change ends where it did before or does after it', (_, at) => {
  const packets = packetsOf(at)
  fc.assert(
    fc.property(someService, someService, (one, other) => {
      const change = [stateOf(one, at), stateOf(other, at)] as const
      expect(packets.flatMap((packet) => strangeEnds(change, at, packet))).toEqual([])
    }),
    { numRuns: RUNS },
  )
})

test('the walk knows every kind of end', () => {
  const base: Service = {
    ...{ weights: [1, 1], pods: 0, isLocal: false, isLimited: true, isSticky: false, name: 0 },
    ...{ hasNodePort: true, hasExternalIP: true, drops: true },
  }
  const endsOf = (given: Partial<Service>) => {
    const state = stateOf({ ...base, ...given }, V4)
    return new Set(packetsOf(V4).flatMap((packet) => endsIn(state, packet)))
  }
  expect(endsOf({})).toEqual(
    new Set([
      '10.180.0.1:8080',
      '10.180.0.2:8080',
      '10.180.0.1:8080 masqueraded',
      '10.180.0.2:8080 masqueraded',
      'dropped',
    ]),
  )
  expect(endsOf({ weights: [0], isLocal: true })).toEqual(new Set(['rejected', 'dropped']))
  expect(endsOf({ hasNodePort: false })).toContain('passed')
})
