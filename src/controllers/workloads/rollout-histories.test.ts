import fc from 'fast-check'
import { expect, test } from 'vitest'
import { timestamp } from '../../lib/duration.ts'
import {
  arrayAt,
  type JsonObject,
  mergePatch,
  objectAt,
  stringAt,
  valueAt,
  without,
} from '../../lib/json.ts'
import type { Controller } from '../runner/controller.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import { conditionOf } from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { sizeOf } from './deployment/owned-sets.ts'
import { limitsOf } from './deployment/rollout-limits.ts'
import { deploymentController } from './deployment-controller.ts'
import { replicaSetController } from './replicaset-controller.ts'
import { untilAvailable } from './shared/pods-of.ts'
import { isActive } from './shared/surplus-pods.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 150)
const KEY = 'shop/web'

/** What happens next: `at` chooses the object that it happens to. */
interface Step {
  readonly what: keyof typeof EVENTS
  readonly at: number
}

/** The controllers, a node that runs the Pods, and the people who change the Deployment. */
class World {
  readonly cluster: FakeCluster = createFakeCluster()
  now = Date.UTC(2030, 0, 1)

  constructor(spec: JsonObject) {
    this.cluster.put('deployments', deployment(spec))
  }

  edit(spec: JsonObject): void {
    const known = this.cluster.get('deployments', KEY) ?? {}
    const generation = Number(valueAt(known, 'metadata', 'generation')) + 1
    const changed = mergePatch(known, { metadata: { generation }, spec }) as JsonObject
    this.cluster.put('deployments', changed)
  }

  /** One of the Pods that `test` is true for. */
  pod(at: number, test: (pod: JsonObject) => boolean): JsonObject | undefined {
    const found = this.cluster.all('pods').filter(test)
    return found[at % found.length]
  }

  report(pod: JsonObject | undefined, phase: string, isReady: boolean): void {
    if (pod === undefined) return
    const lastTransitionTime = timestamp(this.now)
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime }]
    const spec = { ...objectAt(pod, 'spec'), nodeName: `node-${stringAt(pod, 'metadata', 'name')}` }
    this.cluster.put('pods', { ...pod, spec, status: { phase, conditions } })
  }

  remove(pod: JsonObject | undefined): void {
    if (pod !== undefined) this.cluster.remove('pods', `shop/${stringAt(pod, 'metadata', 'name')}`)
  }

  async reconcile(controller: Controller, key: string): Promise<readonly string[]> {
    const before = this.counts()
    const writes = await reconcile(this.cluster, { controller, key, now: this.now })
    const most = Math.max(before.wanted, this.limits().maxTotal)
    expect(this.counts().wanted).toBeLessThanOrEqual(most)
    return writes
  }

  async reconcileSet(at: number): Promise<readonly string[]> {
    const sets = this.cluster.all('replicasets')
    const set = sets[at % sets.length]
    if (set === undefined) return []
    return this.reconcile(replicaSetController, `shop/${stringAt(set, 'metadata', 'name')}`)
  }

  limits() {
    return limitsOf(this.cluster.view.deployments.get(KEY)!)
  }

  /**
   * Pods that are there, that are available, that remain available when the ReplicaSets have deleted what is too many,
   * and that the ReplicaSets want.
   */
  counts(): { total: number; available: number; remaining: number; wanted: number } {
    const { view } = this.cluster
    const { minReadyMs } = view.deployments.get(KEY)!
    const pods = [...view.pods.values()].filter(isActive)
    const available = pods.filter((pod) => untilAvailable(pod, minReadyMs, this.now) === 0)
    const sets = [...view.replicasets.values()]
    return {
      total: pods.length,
      available: available.length,
      remaining: sets.reduce((sum, set) => sum + sizeOf(set, view, this.now).available, 0),
      wanted: sets.reduce((sum, { replicas }) => sum + replicas, 0),
    }
  }

  /** Everything runs until nothing is left to do. */
  async settle(): Promise<void> {
    for (let round = 0; round < 200; round++) {
      const writes = [...(await this.reconcile(deploymentController, KEY))]
      for (const [at] of this.cluster.all('replicasets').entries()) {
        writes.push(...(await this.reconcileSet(at)))
      }
      const leaving = this.cluster.all('pods').filter(isLeaving)
      const waiting = this.cluster.all('pods').filter((pod) => !isReady(pod) && !hasEnded(pod))
      for (const pod of leaving) this.remove(pod)
      for (const pod of waiting) if (!isLeaving(pod)) this.report(pod, 'Running', true)
      this.now += 10_000
      if (writes.length + leaving.length + waiting.length === 0) return
    }
    throw new Error(`it does not come to rest: ${this.cluster.log.slice(-10).join()}`)
  }
}

const isLeaving = (pod: JsonObject): boolean => 'deletionTimestamp' in objectAt(pod, 'metadata')
const isReady = (pod: JsonObject): boolean =>
  stringAt(conditionOf(pod, 'Ready'), 'status') === 'True'
const hasEnded = (pod: JsonObject): boolean => stringAt(pod, 'status', 'phase') === 'Failed'
const isLive = (pod: JsonObject): boolean => !isLeaving(pod) && !hasEnded(pod)

const EVENTS = {
  reconcile: (world: World) => world.reconcile(deploymentController, KEY),
  reconcileSet: (world: World, at: number) => world.reconcileSet(at),
  ready: (world: World, at: number) =>
    world.report(
      world.pod(at, (pod) => isLive(pod) && !isReady(pod)),
      'Running',
      true,
    ),
  unready: (world: World, at: number) => world.report(world.pod(at, isReady), 'Running', false),
  fail: (world: World, at: number) => world.report(world.pod(at, isLive), 'Failed', false),
  leave: (world: World, at: number) => world.remove(world.pod(at, isLeaving)),
  wait: (world: World, at: number) => void (world.now += 1000 * (at % 5)),
  template: (world: World, at: number) => world.edit({ template: template(at % 3) }),
  scale: (world: World, at: number) => world.edit({ replicas: at % 7 }),
  pause: (world: World, at: number) => world.edit({ paused: at % 2 === 0 }),
  strategy: (world: World, at: number) =>
    world.edit({ strategy: null }) ?? world.edit({ strategy: STRATEGIES[at % STRATEGIES.length]! }),
  /** Somebody deletes a ReplicaSet, and the garbage collector its Pods. */
  forget: (world: World, at: number) => {
    const sets = world.cluster.all('replicasets')
    const metadata = objectAt(sets[at % sets.length], 'metadata')
    const [name, uid] = [stringAt(metadata, 'name'), stringAt(metadata, 'uid')]
    if (name === '') return
    world.cluster.remove('replicasets', `shop/${name}`)
    const pods = world.cluster.all('pods')
    const ofSet = (pod: JsonObject): boolean =>
      arrayAt(pod, 'metadata', 'ownerReferences').some((one) => valueAt(one, 'uid') === uid)
    for (const pod of pods.filter(ofSet)) world.remove(pod)
  },
}

const rolling = (maxSurge: number | string, maxUnavailable: number | string): JsonObject => ({
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge, maxUnavailable },
})
const ROLLING = [
  rolling('25%', '25%'),
  rolling(1, 0),
  rolling(0, 1),
  rolling(0, 0),
  rolling('100%', '50%'),
]
const STRATEGIES: readonly JsonObject[] = [...ROLLING, { type: 'Recreate' }]

function template(version: number): JsonObject {
  return {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: `web:${version}` }] },
  }
}

function deployment(spec: JsonObject): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'web', generation: 1 },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: template(0),
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 1,
      ...spec,
    },
  }
}

const start = fc.record({
  replicas: fc.integer({ min: 0, max: 6 }),
  strategy: fc.constantFrom(...ROLLING),
  minReadySeconds: fc.constantFrom(0, 2),
})

function steps(...names: readonly Step['what'][]): fc.Arbitrary<Step[]> {
  const often: readonly Step['what'][] = ['reconcile', 'reconcileSet', 'ready', 'leave']
  const what = fc.constantFrom(...often, ...often, ...names)
  return fc.array(fc.record({ what, at: fc.nat(60) }), { maxLength: 60, size: 'max' })
}

test('a rolling update keeps its limits while no Pod fails', async () => {
  await fc.assert(
    fc.asyncProperty(start, steps('wait', 'template', 'template'), async (spec, history) => {
      const world = new World(spec)
      await world.settle()
      const { maxTotal, minAvailable } = world.limits()
      for (const { what, at } of history) {
        await EVENTS[what](world, at)
        const { total, available } = world.counts()
        expect(total).toBeLessThanOrEqual(maxTotal)
        expect(available).toBeGreaterThanOrEqual(minAvailable)
      }
    }),
    { numRuns: HISTORIES },
  )
})

test('where Pods fail, no controller makes it worse than the limits', async () => {
  const names = ['unready', 'fail', 'wait', 'template', 'template'] as const
  await fc.assert(
    fc.asyncProperty(start, steps(...names), async (spec, history) => {
      const world = new World(spec)
      await world.settle()
      const { maxTotal, minAvailable } = world.limits()
      for (const { what, at } of history) {
        const before = world.counts()
        await EVENTS[what](world, at)
        const after = world.counts()
        expect(after.total).toBeLessThanOrEqual(maxTotal)
        if (!what.startsWith('reconcile')) continue
        expect(after.remaining).toBeGreaterThanOrEqual(Math.min(before.remaining, minAvailable))
        if (what === 'reconcile') continue
        expect(after.available).toBeGreaterThanOrEqual(before.remaining)
      }
    }),
    { numRuns: HISTORIES },
  )
})

test('every history ends as if the Deployment had just been created', async () => {
  const others = [
    'unready',
    'fail',
    'wait',
    'template',
    'scale',
    'pause',
    'strategy',
    'forget',
  ] as const
  await fc.assert(
    fc.asyncProperty(start, steps(...others), async (spec, history) => {
      const world = new World(spec)
      for (const { what, at } of history) await EVENTS[what](world, at)
      world.edit({ paused: false })
      await world.settle()
      const fresh = new World(objectAt(world.cluster.get('deployments', KEY), 'spec'))
      await fresh.settle()
      expect(outcome(world)).toEqual(outcome(fresh))
      const sets = world.cluster.all('replicasets').length
      expect(sets).toBeLessThanOrEqual(2)
    }),
    { numRuns: HISTORIES },
  )
})

/** What a Deployment, its ReplicaSets and its Pods are in the end, without names and times. */
function outcome({ cluster }: World): unknown {
  const status = objectAt(cluster.get('deployments', KEY), 'status')
  const sets = cluster.all('replicasets').filter((set) => valueAt(set, 'spec', 'replicas') !== 0)
  const pods = cluster.all('pods').filter(isLive)
  return {
    status: without(status, 'observedGeneration', 'conditions', 'collisionCount'),
    conditions: arrayAt(status, 'conditions')
      .map(
        (one) => `${stringAt(one, 'type')} ${stringAt(one, 'status')} ${stringAt(one, 'reason')}`,
      )
      .toSorted(),
    sets: sets.map(({ spec, status: counted }) => [spec, without(objectAt(counted), 'conditions')]),
    pods: pods.map(({ spec }) => objectAt(spec)['containers']),
  }
}
