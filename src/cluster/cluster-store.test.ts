import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isDeepEqual } from '../lib/equal.ts'
import type { Cidr } from '../lib/ip.ts'
import type { EndpointSource, Service, ServiceKey } from '../resources/types.ts'
import { type ClusterEvent, ClusterStore } from './cluster-store.ts'
import { endpoint, key, node, service, source } from './testing/fixtures.ts'

/** The value of an event that reports a deletion. */
const gone = undefined
const serviceEvent = (name: string, value: Service | undefined): ClusterEvent => ({
  kind: 'service',
  key: key(name),
  value,
})
const sourceEvent = (name: string, value: EndpointSource | undefined): ClusterEvent => ({
  kind: 'endpoints',
  name,
  value,
})

function storeWith(...events: readonly ClusterEvent[]): ClusterStore {
  const store = new ClusterStore()
  store.apply(events)
  return store
}

describe('apply', () => {
  test('returns the Services of which the object or an endpoint source changed, and no Node', () => {
    const store = new ClusterStore()
    const { services, nodeChanged } = store.apply([
      serviceEvent('ns/a', service('ns/a')),
      sourceEvent('ns/a-1', source('ns/a-1', 'ns/a')),
      sourceEvent('ns/b-1', source('ns/b-1', 'ns/b')),
    ])
    expect([...services]).toEqual(['ns/a', 'ns/b'])
    expect(nodeChanged).toBe(false)
  })

  test('a value equal to the known one changes nothing', () => {
    const store = storeWith(
      serviceEvent('ns/a', service('ns/a')),
      sourceEvent('ns/a-1', source('ns/a-1', 'ns/a')),
    )
    store.apply([{ kind: 'node', name: 'node-1', value: node('node-1') }])
    const again = store.apply([
      serviceEvent('ns/a', service('ns/a')),
      sourceEvent('ns/a-1', source('ns/a-1', 'ns/a')),
      { kind: 'node', name: 'node-1', value: node('node-1') },
    ])
    expect(again).toEqual({ services: new Set(), nodeChanged: false })
  })

  test('Service ranges are those of all ServiceCIDR objects, sorted, until each is gone', () => {
    const ranges = (name: string, ...value: readonly string[]): ClusterEvent => ({
      kind: 'serviceCIDR',
      name,
      value: value as readonly Cidr[],
    })
    const store = storeWith(
      ranges('one', '172.30.0.0/16', 'fd00::/108'),
      ranges('two', '10.96.0.0/12'),
    )
    expect(store.serviceCIDRs).toEqual(['10.96.0.0/12', '172.30.0.0/16', 'fd00::/108'])
    store.apply([ranges('one', '10.96.0.0/12')])
    expect(store.serviceCIDRs).toEqual(['10.96.0.0/12'])
    store.apply(['one', 'two'].map((name) => ({ kind: 'serviceCIDR', name, value: gone })))
    expect(store.serviceCIDRs).toEqual([])
  })

  test('the deletion of an unknown object changes nothing', () => {
    const change = new ClusterStore().apply([
      serviceEvent('ns/a', gone),
      sourceEvent('ns/a-1', gone),
      { kind: 'node', name: 'node-1', value: gone },
    ])
    expect(change).toEqual({ services: new Set(), nodeChanged: false })
  })

  test('an endpoint source that moves to another Service changes both', () => {
    const store = storeWith(sourceEvent('ns/x', source('ns/x', 'ns/a')))
    const { services } = store.apply([sourceEvent('ns/x', source('ns/x', 'ns/b'))])
    expect([...services].sort()).toEqual(['ns/a', 'ns/b'])
    expect(store.endpointSourcesOf(key('ns/a'))).toEqual([])
    expect(store.endpointSourcesOf(key('ns/b'))).toEqual([source('ns/x', 'ns/b')])
  })

  test('the deletion of an endpoint source changes its Service', () => {
    const store = storeWith(sourceEvent('ns/x', source('ns/x', 'ns/a')))
    expect([...store.apply([sourceEvent('ns/x', gone)]).services]).toEqual(['ns/a'])
    expect(store.counts).toEqual({ services: 0, endpointSources: 0 })
  })

  test.each([
    ['appears', [], node('node-1')],
    ['changes', [node('node-1')], node('node-1', { leaving: true })],
    ['is deleted', [node('node-1')], gone],
  ])('a Node that %s is reported as changed', (_, before, value) => {
    const store = storeWith(
      ...before.map((one): ClusterEvent => ({ kind: 'node', name: 'node-1', value: one })),
    )
    expect(store.apply([{ kind: 'node', name: 'node-1', value }]).nodeChanged).toBe(true)
    expect(store.node('node-1')).toEqual(value)
  })

  test('endpoint sources of a Service are sorted by name, whatever the order of their events', () => {
    const names = ['ns/a-2', 'ns/a-10', 'ns/a-1']
    const store = storeWith(...names.map((name) => sourceEvent(name, source(name, 'ns/a'))))
    expect(store.endpointSourcesOf(key('ns/a')).map(({ name }) => name)).toEqual([
      'ns/a-1',
      'ns/a-10',
      'ns/a-2',
    ])
  })

  test('an event replaces the objects of its own Service and leaves those of 499 others identical', () => {
    const names = Array.from({ length: 500 }, (_, index) => `ns/s${index}`)
    const store = storeWith(
      ...names.map((name) => serviceEvent(name, service(name))),
      ...names.map((name) => sourceEvent(`${name}-1`, source(`${name}-1`, name))),
    )
    const view = () =>
      names.map((name) => [store.service(key(name)), store.endpointSourcesOf(key(name))])
    const before = view()
    const changed = source('ns/s7-1', 'ns/s7', [endpoint('10.9.9.9')])
    expect([...store.apply([sourceEvent('ns/s7-1', changed)]).services]).toEqual(['ns/s7'])
    const after = view()
    expect(
      names.filter((_, i) => before[i]?.some((part, which) => part !== after[i]?.[which])),
    ).toEqual(['ns/s7'])
    expect(store.counts).toEqual({ services: 500, endpointSources: 500 })
  })
})

/** Few names and values, so that many events concern the same object. */
const SERVICES = ['ns/a', 'ns/b', 'ns/c']
const SOURCES = ['ns/1', 'ns/2', 'ns/3', 'ns/4']
const event: fc.Arbitrary<ClusterEvent> = fc.oneof(
  fc
    .record({ name: fc.constantFrom(...SERVICES), uid: fc.constantFrom(gone, 'u', 'v') })
    .map(({ name, uid }) => serviceEvent(name, uid && service(name, { uid }))),
  fc
    .record({
      name: fc.constantFrom(...SOURCES),
      owner: fc.constantFrom(gone, ...SERVICES),
      address: fc.constantFrom('10.0.0.1', '10.0.0.2'),
    })
    .map(({ name, owner, address }) =>
      sourceEvent(name, owner === gone ? gone : source(name, owner, [endpoint(address)])),
    ),
  fc.constantFrom(gone, true, false).map(nodeEvent),
)

function nodeEvent(leaving: boolean | undefined): ClusterEvent {
  const value = leaving === gone ? gone : node('node-1', { leaving })
  return { kind: 'node', name: 'node-1', value }
}

/** A store without an index, to compare with: the last event of each object. */
class NaiveStore {
  readonly values = new Map<string, ClusterEvent>()

  apply(change: ClusterEvent): { services: ServiceKey[]; nodeChanged: boolean } {
    const id = `${change.kind} ${change.kind === 'service' ? change.key : change.name}`
    const before = this.values.get(id)?.value
    if (isDeepEqual(before, change.value)) return { services: [], nodeChanged: false }
    if (change.value === undefined) this.values.delete(id)
    else this.values.set(id, change)
    if (change.kind === 'node') return { services: [], nodeChanged: true }
    if (change.kind === 'service') return { services: [change.key], nodeChanged: false }
    if (change.kind === 'serviceCIDR') return { services: [], nodeChanged: false }
    const owners = [before as EndpointSource | undefined, change.value]
    return { services: owners.flatMap((one) => one?.service ?? []), nodeChanged: false }
  }

  endpointSourcesOf(owner: string): EndpointSource[] {
    return [...this.values.values()]
      .flatMap((one) => (one.kind === 'endpoints' && one.value ? [one.value] : []))
      .filter((one) => one.service === owner)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

test('any history of batches leaves the state that the last value of each object gives', () => {
  fc.assert(
    fc.property(fc.array(fc.array(event, { maxLength: 5 }), { maxLength: 12 }), (batches) => {
      const store = new ClusterStore()
      const naive = new NaiveStore()
      for (const batch of batches) {
        const reported = batch.map((one) => naive.apply(one))
        expect(store.apply(batch)).toEqual({
          services: new Set(reported.flatMap(({ services }) => services)),
          nodeChanged: reported.some((one) => one.nodeChanged),
        })
      }
      const fresh = storeWith(...[...naive.values.values()].reverse())
      for (const one of [store, fresh]) {
        expect(SERVICES.map((name) => one.service(key(name)))).toEqual(
          SERVICES.map((name) => naive.values.get(`service ${name}`)?.value),
        )
        expect(SERVICES.map((name) => one.endpointSourcesOf(key(name)))).toEqual(
          SERVICES.map((name) => naive.endpointSourcesOf(name)),
        )
        expect([...one.serviceKeys()].sort()).toEqual(
          SERVICES.filter((name) => naive.values.has(`service ${name}`)),
        )
        expect(one.node('node-1')).toEqual(naive.values.get('node node-1')?.value)
      }
    }),
    { numRuns: 1_000 },
  )
})
