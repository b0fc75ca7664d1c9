import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isDeepEqual } from '../lib/equal.ts'
import type { EndpointSource, Service, ServiceKey } from '../resources/types.ts'
import { ClusterStore } from './cluster-store.ts'
import type { ClusterEvent } from './event.ts'
import { endpoint, key, node, service, source } from './testing/fixtures.ts'

const gone = undefined
const ofService = (name: string, value: Service | undefined): ClusterEvent => ({
  kind: 'service',
  key: key(name),
  value,
})
const ofSource = (name: string, value: EndpointSource | undefined): ClusterEvent => ({
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
  test('says which Services a batch touched, each once', () => {
    const store = new ClusterStore()
    const { services, nodes } = store.apply([
      ofService('ns/a', service('ns/a')),
      ofSource('ns/a-1', source('ns/a-1', 'ns/a')),
      ofSource('ns/b-1', source('ns/b-1', 'ns/b')),
    ])
    expect([...services]).toEqual(['ns/a', 'ns/b'])
    expect(nodes).toBe(false)
  })

  test('an equal value makes nothing dirty', () => {
    const store = storeWith(
      ofService('ns/a', service('ns/a')),
      ofSource('ns/a-1', source('ns/a-1', 'ns/a')),
    )
    store.apply([{ kind: 'node', name: 'node-1', value: node('node-1') }])
    const again = store.apply([
      ofService('ns/a', service('ns/a')),
      ofSource('ns/a-1', source('ns/a-1', 'ns/a')),
      { kind: 'node', name: 'node-1', value: node('node-1') },
    ])
    expect(again).toEqual({ services: new Set(), nodes: false })
  })

  test('an object that was never known can go without a trace', () => {
    const dirty = new ClusterStore().apply([
      ofService('ns/a', gone),
      ofSource('ns/a-1', gone),
      { kind: 'node', name: 'node-1', value: gone },
    ])
    expect(dirty).toEqual({ services: new Set(), nodes: false })
  })

  test('a source that moves to another Service touches both', () => {
    const store = storeWith(ofSource('ns/x', source('ns/x', 'ns/a')))
    const { services } = store.apply([ofSource('ns/x', source('ns/x', 'ns/b'))])
    expect([...services].sort()).toEqual(['ns/a', 'ns/b'])
    expect(store.endpointsOf(key('ns/a'))).toEqual([])
    expect(store.endpointsOf(key('ns/b'))).toEqual([source('ns/x', 'ns/b')])
  })

  test('a source that goes touches its Service', () => {
    const store = storeWith(ofSource('ns/x', source('ns/x', 'ns/a')))
    expect([...store.apply([ofSource('ns/x', gone)]).services]).toEqual(['ns/a'])
    expect(store.counts).toEqual({ services: 0, endpointSources: 0 })
  })

  test.each([
    ['appears', [], node('node-1')],
    ['changes', [node('node-1')], node('node-1', { leaving: true })],
    ['goes', [node('node-1')], gone],
  ])('a node that %s is reported', (_, before, value) => {
    const store = storeWith(
      ...before.map((one): ClusterEvent => ({ kind: 'node', name: 'node-1', value: one })),
    )
    expect(store.apply([{ kind: 'node', name: 'node-1', value }]).nodes).toBe(true)
    expect(store.node('node-1')).toEqual(value)
  })

  test('sources of a Service are sorted by name, in whatever order they came', () => {
    const names = ['ns/a-2', 'ns/a-10', 'ns/a-1']
    const store = storeWith(...names.map((name) => ofSource(name, source(name, 'ns/a'))))
    expect(store.endpointsOf(key('ns/a')).map(({ name }) => name)).toEqual([
      'ns/a-1',
      'ns/a-10',
      'ns/a-2',
    ])
  })

  test('what does not change keeps its identity: one event costs nothing of the others', () => {
    const names = Array.from({ length: 500 }, (_, index) => `ns/s${index}`)
    const store = storeWith(
      ...names.map((name) => ofService(name, service(name))),
      ...names.map((name) => ofSource(`${name}-1`, source(`${name}-1`, name))),
    )
    const view = () => names.map((name) => [store.service(key(name)), store.endpointsOf(key(name))])
    const before = view()
    const changed = source('ns/s7-1', 'ns/s7', [endpoint('10.9.9.9')])
    expect([...store.apply([ofSource('ns/s7-1', changed)]).services]).toEqual(['ns/s7'])
    const after = view()
    expect(
      names.filter((_, i) => before[i]?.some((part, which) => part !== after[i]?.[which])),
    ).toEqual(['ns/s7'])
    expect(store.counts).toEqual({ services: 500, endpointSources: 500 })
  })
})

/** Few names and values, so that events meet. */
const SERVICES = ['ns/a', 'ns/b', 'ns/c']
const SOURCES = ['ns/1', 'ns/2', 'ns/3', 'ns/4']
const event: fc.Arbitrary<ClusterEvent> = fc.oneof(
  fc
    .record({ name: fc.constantFrom(...SERVICES), uid: fc.constantFrom(gone, 'u', 'v') })
    .map(({ name, uid }) => ofService(name, uid && service(name, { uid }))),
  fc
    .record({
      name: fc.constantFrom(...SOURCES),
      owner: fc.constantFrom(gone, ...SERVICES),
      address: fc.constantFrom('10.0.0.1', '10.0.0.2'),
    })
    .map(({ name, owner, address }) =>
      ofSource(name, owner === gone ? gone : source(name, owner, [endpoint(address)])),
    ),
  fc.constantFrom(gone, true, false).map(nodeEvent),
)

function nodeEvent(leaving: boolean | undefined): ClusterEvent {
  const value = leaving === gone ? gone : node('node-1', { leaving })
  return { kind: 'node', name: 'node-1', value }
}

/** The slow and obvious store: the last value of everything. */
class Naive {
  readonly values = new Map<string, ClusterEvent>()

  apply(change: ClusterEvent): { services: ServiceKey[]; nodes: boolean } {
    const id = `${change.kind} ${change.kind === 'service' ? change.key : change.name}`
    const before = this.values.get(id)?.value
    if (isDeepEqual(before, change.value)) return { services: [], nodes: false }
    if (change.value === undefined) this.values.delete(id)
    else this.values.set(id, change)
    if (change.kind === 'node') return { services: [], nodes: true }
    if (change.kind === 'service') return { services: [change.key], nodes: false }
    const owners = [before as EndpointSource | undefined, change.value]
    return { services: owners.flatMap((one) => one?.service ?? []), nodes: false }
  }

  endpointsOf(owner: string): EndpointSource[] {
    return [...this.values.values()]
      .flatMap((one) => (one.kind === 'endpoints' && one.value ? [one.value] : []))
      .filter((one) => one.service === owner)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

test('is what the last value of every object makes it, whatever came before and in what batches', () => {
  fc.assert(
    fc.property(fc.array(fc.array(event, { maxLength: 5 }), { maxLength: 12 }), (batches) => {
      const store = new ClusterStore()
      const naive = new Naive()
      for (const batch of batches) {
        const reported = batch.map((one) => naive.apply(one))
        expect(store.apply(batch)).toEqual({
          services: new Set(reported.flatMap(({ services }) => services)),
          nodes: reported.some(({ nodes }) => nodes),
        })
      }
      const fresh = storeWith(...[...naive.values.values()].reverse())
      for (const one of [store, fresh]) {
        expect(SERVICES.map((name) => one.service(key(name)))).toEqual(
          SERVICES.map((name) => naive.values.get(`service ${name}`)?.value),
        )
        expect(SERVICES.map((name) => one.endpointsOf(key(name)))).toEqual(
          SERVICES.map((name) => naive.endpointsOf(name)),
        )
        expect([...one.services()].sort()).toEqual(
          SERVICES.filter((name) => naive.values.has(`service ${name}`)),
        )
        expect(one.node('node-1')).toEqual(naive.values.get('node node-1')?.value)
      }
    }),
    { numRuns: 1_000 },
  )
})
