import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EndpointSource, Service, ServiceKey } from '../resources/types.ts'
import { claimKey } from './claims.ts'
import { recompile } from './compile.ts'
import type { EntryId, ForwardingEntry, TableDelta } from './entry.ts'
import { activeBackends, ForwardingTable } from './table.ts'
import {
  cidr,
  clusterOf,
  endpoint,
  ip,
  LEAVING,
  nodeContext,
  service,
  slice,
} from './testing/fixtures.ts'

/**
 * Few keys, few addresses, few ports: nearly every Service meets rivals, as
 * externalIP, load balancer address, ClusterIP and node port, in both families.
 */
const KEYS = ['ns/a', 'ns/b', 'ns/c', 'ns/d'].map((key) => key as ServiceKey)
const ADDRESSES = ['172.30.0.1', '172.30.0.2', '5.6.7.8', '192.168.0.2', '127.0.0.1'].map(ip)
const ADDRESSES6 = ['fd00::1', '2001:db8::1'].map(ip)
const POLICY = fc.constantFrom('Cluster' as const, 'Local' as const)

const someAddresses = fc.uniqueArray(fc.constantFrom(...ADDRESSES, ...ADDRESSES6), { maxLength: 3 })

const ports = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('http', 'dns'),
    protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
    port: fc.constantFrom(53, 80),
    nodePort: fc.constantFrom(0, 30001, 30002),
  }),
  { minLength: 1, maxLength: 3, selector: ({ name, protocol }) => `${name}/${protocol}` },
)

const services: fc.Arbitrary<Partial<Service> & Pick<Service, 'clusterIPs' | 'ports'>> = fc.record({
  type: fc.constantFrom('ClusterIP' as const, 'NodePort' as const, 'LoadBalancer' as const),
  clusterIPs: fc.oneof(
    fc.constantFrom(...ADDRESSES).map((one) => [one]),
    fc.tuple(fc.constantFrom(...ADDRESSES), fc.constantFrom(...ADDRESSES6)),
    fc.constant([]),
  ),
  ports,
  externalIPs: someAddresses,
  loadBalancerIPs: someAddresses,
  loadBalancerSourceRanges: fc.option(fc.constant([cidr('192.168.0.0/16')]), { nil: undefined }),
  externalTrafficPolicy: POLICY,
  internalTrafficPolicy: POLICY,
  affinitySeconds: fc.option(fc.constant(60), { nil: undefined }),
  proxyName: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, fc.constant('other')),
})

const endpoints = fc.array(
  fc.record({
    address: fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3', 'fd00:1::1'),
    nodeName: fc.constantFrom('here', 'there'),
    conditions: fc.constantFrom({}, {}, LEAVING, { ready: false, serving: false }),
  }),
  { maxLength: 4 },
)

const step = fc.record({
  key: fc.constantFrom(...KEYS),
  wanted: fc.option(services, { freq: 4 }),
  endpoints,
})

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
const NODE = { allowedExternalIPs: undefined }

function worldOf(steps: Iterable<Step>) {
  const found: Service[] = []
  const sources: EndpointSource[] = []
  for (const { key, wanted, endpoints: backends } of steps) {
    if (wanted === null) continue
    found.push(service({ key, ...wanted }))
    for (const { address, nodeName, conditions } of backends) {
      const one = endpoint(address, { nodeName, ...conditions })
      const slicePorts = wanted.ports.map(({ name, protocol, port }) => ({ name, protocol, port }))
      const name = `${key}-${sources.length}`
      sources.push(slice([one], { name, service: key, ports: slicePorts }))
    }
  }
  return clusterOf(found, sources)
}

/** Lives through the steps; `onDelta` sees each change with the table after it. */
function live(
  steps: readonly Step[],
  drain: number,
  onDelta: (delta: TableDelta, table: ForwardingTable) => void = () => undefined,
): ForwardingTable {
  const node = nodeContext({ ...NODE, drainSeconds: { TCP: drain, UDP: drain, SCTP: drain } })
  const table = new ForwardingTable(node)
  const current = new Map<ServiceKey, Step>()
  for (const [now, one] of steps.entries()) {
    current.set(one.key, one)
    const cluster = worldOf(current.values())
    onDelta(recompile(table, one.key, { cluster, node, now }), table)
  }
  return table
}

/** The last step of each key, in the order of `keys`. */
function lastOfEach(steps: readonly Step[], keys: readonly ServiceKey[]): readonly Step[] {
  return keys.flatMap((key) => steps.findLast((one) => one.key === key) ?? [])
}

function stateOf(table: ForwardingTable) {
  const sorted = [...table.entries()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const entries = sorted.map((entry) => {
    const { refused: _, ...rest } = entry
    return { ...rest, draining: [] }
  })
  const statuses = sorted.map(({ id }) => [id, table.statusOf(id)])
  return { entries, statuses, problems: table.problems() }
}

const histories = fc.array(step, { minLength: 1, maxLength: 14 })
const orders = fc.shuffledSubarray(KEYS, { minLength: KEYS.length })
const RUNS = { numRuns: 800 }

describe('path independence', () => {
  test('any history ends in the state of a fresh table that is filled in any order', () => {
    fc.assert(
      fc.property(histories, orders, fc.constantFrom(0, 30), (steps, order, drain) => {
        const lived = live(steps, drain)
        const fresh = live(lastOfEach(steps, order), drain)
        expect(stateOf(lived)).toEqual(stateOf(fresh))
      }),
      { numRuns: 2500 },
    )
  })

  test('after all deadlines the table is that of a fresh start', () => {
    fc.assert(
      fc.property(histories, (steps) => {
        const table = live(steps, 30)
        table.expire(Number.MAX_SAFE_INTEGER)
        expect([...table.entries()].flatMap(({ draining }) => draining)).toEqual([])
        expect(table.nextDeadline()).toBeUndefined()
      }),
      RUNS,
    )
  })

  test('a repeated step changes nothing', () => {
    fc.assert(
      fc.property(histories, (steps) => {
        const repeated: TableDelta[] = []
        let index = 0
        live(
          steps.flatMap((one) => [one, one]),
          0,
          (delta) => {
            if (index++ % 2 === 1) repeated.push(delta)
          },
        )
        for (const delta of repeated) {
          expect(delta).toEqual({ upserts: [], removals: [], staleFlows: [] })
        }
      }),
      RUNS,
    )
  })

  test('the deltas of a history, applied in order, give the table', () => {
    fc.assert(
      fc.property(histories, (steps) => {
        const copy = new Map<EntryId, ForwardingEntry>()
        live(steps, 30, ({ upserts, removals }, table) => {
          for (const id of removals) expect(copy.delete(id)).toBe(true)
          for (const entry of upserts) copy.set(entry.id, entry)
          expect(new Map([...table.entries()].map((entry) => [entry.id, entry]))).toEqual(copy)
        })
      }),
      RUNS,
    )
  })
})

describe('at every moment', () => {
  test('one holder for each ip:port:protocol, found by its key', () => {
    fc.assert(
      fc.property(histories, (steps) => {
        live(steps, 0, (_, table) => {
          const held = new Set<string>()
          for (const entry of table.entries()) {
            for (const frontend of entry.frontends) {
              const key = claimKey(entry, frontend)
              expect(held.has(key)).toBe(false)
              held.add(key)
              expect(table.holder(key)).toBe(entry)
            }
          }
        })
      }),
      RUNS,
    )
  })

  test('no externalIP or load balancer address is the ClusterIP of another Service', () => {
    fc.assert(
      fc.property(histories, (steps) => {
        const table = live(steps, 0)
        const current = lastOfEach(steps, KEYS)
        const owned = current.flatMap(({ key, wanted }) =>
          (wanted?.clusterIPs ?? []).map((one) => ({ key, ip: one })),
        )
        for (const { service: key, frontends } of table.entries()) {
          for (const { kind, ip: address } of frontends) {
            if (kind === 'clusterIP') continue
            expect(owned.some((one) => one.ip === address && one.key !== key)).toBe(false)
          }
        }
      }),
      RUNS,
    )
  })

  test('a draining backend is never active', () => {
    fc.assert(
      fc.property(histories, (steps) => {
        live(steps, 30, (_, table) => {
          for (const entry of table.entries()) {
            const active = new Set([...activeBackends(entry).values()].map(addressOf))
            for (const backend of entry.draining) expect(active).not.toContain(addressOf(backend))
          }
        })
      }),
      RUNS,
    )
  })
})

function addressOf({ ip: address, port }: { ip: string; port: number }): string {
  return `${address} ${port}`
}
