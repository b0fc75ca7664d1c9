import fc from 'fast-check'
import { expect, test } from 'vitest'
import { timestamp } from '../lib/duration.ts'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../lib/json.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import {
  createNodeTaintsController,
  type NodeEviction,
  USUAL_EVICTION,
} from './nodetaints-controller.ts'
import { clusterWith } from './testing/cluster-with.ts'
import { createFakeCluster, type FakeCluster } from './testing/fake-cluster.ts'
import { reconcile } from './testing/reconcile.ts'
import { runControllers } from './testing/run-controllers.ts'

const NOW = Date.UTC(2030, 0, 1)
const nodeTaintsController = createNodeTaintsController()
const OLD = '2029-12-31T23:00:00Z'
const NOT_READY = 'node.kubernetes.io/not-ready'
const UNREACHABLE = 'node.kubernetes.io/unreachable'
const OWN = { key: 'dedicated', value: 'db', effect: 'NoExecute', timeAdded: OLD }

interface NodeParts {
  readonly status?: string
  readonly zone?: string
  readonly taints?: readonly JsonObject[]
  readonly spec?: JsonObject
  readonly since?: string
  readonly labels?: JsonObject
  readonly conditions?: readonly JsonObject[]
}

function node(name: string, parts: NodeParts = {}): JsonObject {
  const { status = 'True', zone = 'a', taints = [], spec = {}, since = OLD, labels = {} } = parts
  const ready = status === '' ? [] : [{ type: 'Ready', status, lastTransitionTime: since }]
  return {
    metadata: {
      name,
      uid: name,
      labels: { 'topology.kubernetes.io/zone': zone, ...labels },
    },
    spec: { ...(taints.length > 0 && { taints: [...taints] }), ...spec },
    status: { conditions: [...ready, ...(parts.conditions ?? [])] },
  }
}

function taint(key: string, effect: string, timeAdded = OLD): JsonObject {
  return { key, effect, timeAdded }
}

/** `not-ready:NoExecute` for each taint of a Node. */
function taintsOf(cluster: FakeCluster, name: string): readonly string[] {
  return arrayAt(cluster.get('nodes', name), 'spec', 'taints').map(
    (one) => `${stringAt(one, 'key').replace(/^.*\//, '')}:${stringAt(one, 'effect')}`,
  )
}

function evicting(cluster: FakeCluster): readonly string[] {
  const names = cluster.all('nodes').map((one) => stringAt(one, 'metadata', 'name'))
  return names.filter((name) =>
    taintsOf(cluster, name).some((one) => /^(?:not-ready|unreachable):NoExecute$/.test(one)),
  )
}

test.each<[string, NodeParts, readonly string[]]>([
  ['ready', {}, []],
  ['not ready', { status: 'False' }, ['not-ready:NoSchedule']],
  ['silent', { status: 'Unknown' }, ['unreachable:NoSchedule']],
  ['without an agent', { status: '' }, []],
  ['cordoned', { spec: { unschedulable: true } }, ['unschedulable:NoSchedule']],
  [
    'short of everything',
    {
      conditions: ['MemoryPressure', 'PIDPressure', 'NetworkUnavailable', 'DiskPressure'].map(
        (type) => ({ type, status: 'True' }),
      ),
    },
    [
      'disk-pressure:NoSchedule',
      'memory-pressure:NoSchedule',
      'network-unavailable:NoSchedule',
      'pid-pressure:NoSchedule',
    ],
  ],
  ['short of nothing', { conditions: [{ type: 'DiskPressure', status: 'False' }] }, []],
  [
    'ready again',
    {
      taints: [
        taint(NOT_READY, 'NoSchedule'),
        taint(UNREACHABLE, 'NoExecute'),
        taint('node.kubernetes.io/unschedulable', 'NoSchedule'),
        taint('node.kubernetes.io/disk-pressure', 'NoSchedule'),
        OWN,
      ],
    },
    ['dedicated:NoExecute'],
  ],
  [
    'silent after it was not ready',
    {
      status: 'Unknown',
      taints: [taint(NOT_READY, 'NoSchedule'), taint(NOT_READY, 'NoExecute'), OWN],
    },
    ['dedicated:NoExecute', 'unreachable:NoSchedule', 'unreachable:NoExecute'],
  ],
  [
    'with taints of others',
    {
      taints: [
        { key: NOT_READY, effect: 'PreferNoSchedule' },
        { key: 'other', effect: 'NoSchedule' },
        taint('node.kubernetes.io/disk-pressure', 'NoExecute'),
      ],
    },
    ['not-ready:PreferNoSchedule', 'other:NoSchedule', 'disk-pressure:NoExecute'],
  ],
  [
    'without an agent, with a taint',
    { status: '', taints: [taint(UNREACHABLE, 'NoExecute')] },
    ['unreachable:NoExecute'],
  ],
])('the taints of a node that is %s', async (_, parts, expected) => {
  const cluster = clusterWith(['nodes', node('n', parts)])
  const run = (now: number) =>
    reconcile(cluster, { controller: nodeTaintsController, key: 'n', now })
  await run(NOW)
  expect(taintsOf(cluster, 'n')).toEqual(expected)
  expect(await run(NOW + 5_000)).toEqual([])
})

test('a taint of the state says since when; the fields of other taints stay', async () => {
  const taints = [OWN, { key: 'gpu', effect: 'NoSchedule' }]
  const cluster = clusterWith(['nodes', node('n', { status: 'False', taints })])
  await reconcile(cluster, { controller: nodeTaintsController, key: 'n', now: NOW })
  expect(arrayAt(cluster.get('nodes', 'n'), 'spec', 'taints')).toEqual([
    ...taints,
    taint(NOT_READY, 'NoSchedule', timestamp(NOW)),
  ])
})

test('a taint with NoExecute that a person put gets the time from which tolerations count', async () => {
  const taints = [{ key: 'repair', value: 'disk', effect: 'NoExecute' }]
  const cluster = clusterWith(['nodes', node('n', { taints })])
  await reconcile(cluster, { controller: nodeTaintsController, key: 'n', now: NOW })
  expect(arrayAt(cluster.get('nodes', 'n'), 'spec', 'taints')).toEqual([
    { ...taints[0], timeAdded: timestamp(NOW) },
  ])
})

test('the last taint that is removed leaves no list', async () => {
  const cluster = clusterWith(['nodes', node('n', { taints: [taint(NOT_READY, 'NoSchedule')] })])
  await reconcile(cluster, { controller: nodeTaintsController, key: 'n', now: NOW })
  expect(objectAt(cluster.get('nodes', 'n'), 'spec')).toEqual({})
})

/** A cluster of so many nodes in a zone, of which some are out, and the nodes that have the taint after so many seconds. */
function outage(settings: Partial<NodeEviction> = {}) {
  const controller = createNodeTaintsController({ ...USUAL_EVICTION, ...settings })
  const cluster = createFakeCluster()
  const add = (count: number, zone: string, parts: NodeParts = {}): void => {
    for (let i = 0; i < count; i++) {
      const name = `${zone}${parts.status ?? 'True'}${i}`
      cluster.put('nodes', node(name, { zone, ...parts }))
    }
  }
  /** How many nodes have the taint at each of these seconds, with a reconcile each second. */
  const counts = async (...seconds: readonly number[]): Promise<readonly number[]> => {
    const found: number[] = []
    for (let second = 0; second <= Math.max(...seconds); second++) {
      const now = NOW + 1000 * second
      await reconcile(cluster, { controller, key: '*', now })
      if (seconds.includes(second)) found.push(evicting(cluster).length)
    }
    return found
  }
  return { cluster, add, counts }
}

type Zones = Readonly<Record<string, readonly [ready: number, out: number]>>

test.each<[string, Zones, readonly [number, number, number, number]]>([
  ['few of many', { a: [10, 3] }, [1, 1, 2, 3]],
  ['two of three, which is too few to judge', { a: [1, 2] }, [1, 1, 2, 2]],
  ['half', { a: [5, 5] }, [1, 1, 2, 5]],
  ['55 % of a small zone', { a: [9, 11] }, [0, 0, 0, 0]],
  ['55 % of a zone of fifty', { a: [22, 28] }, [0, 0, 0, 0]],
  ['55 % of a large zone', { a: [45, 55] }, [1, 1, 1, 2]],
  ['all of the cluster', { a: [0, 4], b: [0, 60] }, [0, 0, 0, 0]],
  ['the only node', { a: [0, 1] }, [0, 0, 0, 0]],
  ['all of one zone', { a: [0, 4], b: [1, 0] }, [1, 1, 2, 4]],
  ['some of two zones', { a: [3, 2], b: [3, 2] }, [2, 2, 4, 4]],
  ['none', { a: [3, 0] }, [0, 0, 0, 0]],
])('where %s is out, nodes get the taint one by one', async (_, zones, expected) => {
  const { add, counts } = outage()
  for (const [zone, [ready, out]] of Object.entries(zones)) {
    add(ready, zone)
    add(out, zone, { status: 'Unknown' })
  }
  expect(await counts(0, 9, 10, 100)).toEqual(expected)
})

test.each<[string, Partial<NodeEviction>, readonly [number, number], readonly number[]]>([
  ['at twice the rate', { rate: 0.2 }, [10, 4], [1, 1, 2, 3, 4]],
  ['at a rate of none', { rate: 0 }, [10, 4], [0, 0, 0, 0, 0]],
  ['in a small zone of which few are out', { secondaryRate: 1 }, [10, 4], [1, 1, 1, 2, 2]],
  ['in a small zone of which most are out', { secondaryRate: 1 }, [9, 11], [0, 0, 0, 0, 0]],
  [
    'in a large zone of which most are out',
    { secondaryRate: 0.2, largeZone: 19 },
    [9, 11],
    [1, 1, 2, 3, 4],
  ],
  ['in a zone that is not large yet', { largeZone: 20 }, [9, 11], [0, 0, 0, 0, 0]],
  ['at a secondary rate of none', { secondaryRate: 0, largeZone: 5 }, [9, 11], [0, 0, 0, 0, 0]],
  ['with another threshold', { unhealthyShare: 0.56 }, [9, 11], [1, 1, 1, 2, 2]],
  ['with a threshold that few reach', { unhealthyShare: 0.2 }, [12, 3], [0, 0, 0, 0, 0]],
  ['with a threshold that two of ten reach', { unhealthyShare: 0.2 }, [8, 2], [1, 1, 1, 2, 2]],
])('%s, the settings decide how many nodes get the taint', async (_, settings, nodes, expected) => {
  const { add, counts } = outage(settings)
  const [ready, out] = nodes
  add(ready, 'a')
  add(out, 'a', { status: 'Unknown' })
  expect(await counts(0, 4, 5, 10, 15)).toEqual(expected)
})

test('the node that has been out for the longest is the first', async () => {
  const { cluster, add, counts } = outage()
  add(4, 'z')
  cluster.put('nodes', node('b', { status: 'Unknown', since: '2029-12-31T23:30:00Z' }))
  cluster.put('nodes', node('c', { status: 'False', since: '2029-12-31T23:20:00Z' }))
  cluster.put('nodes', node('a', { status: 'Unknown', since: '2029-12-31T23:30:00Z' }))
  await counts(0)
  expect(evicting(cluster)).toEqual(['c'])
  expect(taintsOf(cluster, 'c')).toEqual(['not-ready:NoExecute'])
  await counts(10)
  expect(evicting(cluster)).toEqual(['c', 'a'])
})

test('when the last node is out, too, all lose the taint, and one by one get it when one is back', async () => {
  const { cluster, add, counts } = outage()
  add(2, 'a', { status: 'Unknown', taints: [taint(UNREACHABLE, 'NoExecute'), OWN] })
  add(1, 'b')
  expect(await counts(0)).toEqual([2])
  add(1, 'b', { status: 'Unknown' })
  cluster.remove('nodes', 'bTrue0')
  expect(await counts(0)).toEqual([0])
  expect(taintsOf(cluster, 'aUnknown0')).toEqual(['dedicated:NoExecute'])
  cluster.put('nodes', node('bUnknown0', { zone: 'b' }))
  expect(await counts(0, 10)).toEqual([1, 2])
})

test.each<[string, NodeParts]>([
  ['with the label', { labels: { 'node.kubernetes.io/exclude-disruption': '' } }],
  ['without an agent', { status: '' }],
])('a node %s does not count among those that are ready', async (_, parts) => {
  const { cluster, add, counts } = outage()
  add(3, 'a', { status: 'False' })
  cluster.put('nodes', node('other', parts))
  expect(await counts(0)).toEqual([0])
})

test('a time in the future, from before the clock was set, holds no node back for ever', async () => {
  const { cluster, add, counts } = outage()
  add(3, 'a')
  const late = taint(UNREACHABLE, 'NoExecute', timestamp(NOW + 3_600_000))
  cluster.put('nodes', node('first', { status: 'Unknown', taints: [late] }))
  cluster.put('nodes', node('next', { status: 'Unknown' }))
  const { againMs } = nodeTaintsController.reconcile('*', cluster.view, NOW, 0)
  expect(againMs).toBe(10_000)
  await counts(0)
  expect(evicting(cluster)).toEqual(['first'])
})

test('heartbeats concern no key; a change of the state does', () => {
  const cluster = clusterWith(['nodes', node('n')])
  const before = cluster.view.nodes.get('n')!
  const affected = (change: Partial<typeof before>) => [
    ...nodeTaintsController.watches.nodes!(
      { key: 'n', before, after: { ...before, ...change } },
      cluster.view,
    ),
  ]
  expect(affected({ heartbeatAt: timestamp(NOW) })).toEqual([])
  expect(affected({ unschedulable: true })).toEqual(['n', '*'])
  expect(nodeTaintsController.delayMs?.('n', cluster.view)).toBe(0)
})

test('three dead nodes get the taint within 21 s, at work', async () => {
  const { cluster, add } = outage()
  add(7, 'a')
  add(3, 'a', { status: 'Unknown' })
  const clock = new FakeClock()
  await runControllers(cluster, [nodeTaintsController], { clock })
  const found: number[] = []
  for (let second = 0; second <= 21; second++) {
    if ([0, 1, 10, 11, 20, 21].includes(second)) found.push(evicting(cluster).length)
    await clock.advance(1000)
  }
  expect(found).toEqual([0, 1, 1, 2, 2, 3])
  expect(taintsOf(cluster, 'aUnknown0')).toEqual([
    'unreachable:NoSchedule',
    'unreachable:NoExecute',
  ])
})

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      index: fc.nat(7),
      status: fc.constantFrom('True', 'True', 'Unknown', 'Unknown', '', undefined),
    }),
  },
  fc.record({ seconds: fc.constantFrom(0, 1, 5, 10, 100) }),
)
type Step = { index: number; status: string | undefined } | { seconds: number }

/** Every node reconciles, and then the cluster; returns the writes. */
async function settle(cluster: FakeCluster, now: number): Promise<readonly string[]> {
  const keys = cluster.all('nodes').map((one) => stringAt(one, 'metadata', 'name'))
  const writes: string[] = []
  for (const key of [...keys, '*']) {
    writes.push(...(await reconcile(cluster, { controller: nodeTaintsController, key, now })))
  }
  return writes
}

/** The times at which the nodes of a zone got their taint, sorted, in seconds. */
function times(cluster: FakeCluster, zone: string): readonly number[] {
  return cluster
    .all('nodes')
    .filter((one) => stringAt(one, 'metadata', 'name').startsWith(zone))
    .flatMap((one) => arrayAt(one, 'spec', 'taints'))
    .filter((one) => stringAt(one, 'effect') === 'NoExecute')
    .map((one) => Date.parse(stringAt(one, 'timeAdded')) / 1000)
    .toSorted((a, b) => a - b)
}

async function play(steps: readonly Step[], settles: boolean): Promise<FakeCluster> {
  const cluster = createFakeCluster()
  let now = NOW
  for (const one of steps) {
    if ('seconds' in one) {
      now += 1000 * one.seconds
      if (settles) await settle(cluster, now)
      for (const zone of ['a', 'b']) {
        const found = times(cluster, zone)
        const gaps = found.slice(1).map((time, index) => time - (found[index] ?? 0))
        expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10)
      }
      continue
    }
    const zone = one.index % 2 === 0 ? 'a' : 'b'
    const name = `${zone}${one.index}`
    if (one.status === undefined) cluster.remove('nodes', name)
    else {
      const taints = arrayAt(cluster.get('nodes', name), 'spec', 'taints') as JsonObject[]
      cluster.put('nodes', node(name, { zone, status: one.status, taints, since: timestamp(now) }))
    }
  }
  // In the end so many nodes of each zone are ready that all others get the taint.
  for (const zone of ['a', 'b']) {
    for (let i = 0; i < 4; i++) cluster.put('nodes', node(`${zone}-ready${i}`, { zone }))
  }
  for (let i = 0; i < 20; i++) await settle(cluster, (now += 10_000))
  expect(await settle(cluster, now + 3_600_000)).toEqual([])
  return cluster
}

test('histories of nodes end as a fresh start does, and never taint two nodes of a zone within 10 s', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      const [played, fresh] = [await play(steps, true), await play(steps, false)]
      const taints = (cluster: FakeCluster) =>
        cluster
          .all('nodes')
          .map((one) => stringAt(one, 'metadata', 'name'))
          .toSorted()
          .map((name) => [name, taintsOf(cluster, name).toSorted()])
      // A node without an agent keeps the taint that it had.
      const withAgent = (cluster: FakeCluster) =>
        taints(cluster).filter(([name]) => {
          const conditions = arrayAt(cluster.get('nodes', String(name)), 'status', 'conditions')
          return conditions.length > 0
        })
      expect(withAgent(played)).toEqual(withAgent(fresh))
    }),
    { numRuns: Number(process.env['NP_HISTORIES'] ?? 100) },
  )
})
