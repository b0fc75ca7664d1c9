import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonObject, mergePatch, objectAt } from '../../lib/json.ts'
import { readNode } from '../objects/node-object.ts'
import { type PodObject, readPod } from '../objects/pod-object.ts'
import { readWorkload } from '../objects/workload-object.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import { reconcile } from '../testing/reconcile.ts'
import { placementOf } from './daemonset/daemon-placement.ts'
import { daemonSetController } from './daemonset-controller.ts'
import { untilAvailable } from './shared/pods-of.ts'
import { labelOf, type PodEvent, settle, simulateNodes } from './testing/simulated-nodes.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 150)
const NOW = Date.UTC(2030, 0, 1)
const LABELS = { app: 'web' }
const MIN_READY_MS = 10_000

/** What is decided before a history. */
interface Strategy {
  readonly maxUnavailable: number | string
  readonly maxSurge: number
}

type Step =
  | { readonly what: 'pod'; readonly pick: number; readonly event: PodEvent }
  | { readonly what: 'node'; readonly name: string; readonly spec: JsonObject | undefined }
  | { readonly what: 'image'; readonly image: string }
  | { readonly what: 'wait'; readonly ms: number }
  | { readonly what: 'look'; readonly times: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('pod' as const),
      pick: fc.nat(20),
      event: fc.constantFrom<PodEvent>(
        'bind',
        'bind',
        'ready',
        'ready',
        'ready',
        'unready',
        'fail',
        'succeed',
        'delete',
        'end',
        'end',
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('node' as const),
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      spec: fc.constantFrom<JsonObject | undefined>(
        {},
        {},
        {},
        undefined,
        { taints: [{ key: 'x', effect: 'NoSchedule' }] },
        { taints: [{ key: 'x', effect: 'NoExecute' }] },
        { unschedulable: true },
      ),
    }),
  },
  fc.record({ what: fc.constant('image' as const), image: fc.constantFrom('i', 'j', 'k') }),
  fc.record({ what: fc.constant('wait' as const), ms: fc.constantFrom(1_000, 10_000, 60_000) }),
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('look' as const),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
)

const strategy: fc.Arbitrary<Strategy> = fc.constantFrom<Strategy>(
  { maxUnavailable: 1, maxSurge: 0 },
  { maxUnavailable: 2, maxSurge: 0 },
  { maxUnavailable: '50%', maxSurge: 0 },
  { maxUnavailable: 0, maxSurge: 1 },
  { maxUnavailable: 0, maxSurge: 2 },
)

function daemonSet(rollingUpdate: Strategy): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'ds', generation: 1 },
    spec: {
      selector: { matchLabels: LABELS },
      minReadySeconds: MIN_READY_MS / 1_000,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { ...rollingUpdate } },
      template: { metadata: { labels: LABELS }, spec: { containers: [{ name: 'm', image: 'i' }] } },
    },
  }
}

/** A cluster in which a history is played; `look` lets the controller reconcile once, and checks what it did. */
function stage(rollingUpdate: Strategy) {
  const cluster = createFakeCluster()
  cluster.put('daemonsets', daemonSet(rollingUpdate))
  for (const name of ['a', 'b', 'c']) cluster.put('nodes', { metadata: { name, uid: name } })
  const nodes = simulateNodes(cluster)
  let now = NOW

  async function look(): Promise<void> {
    const before = unavailable(cluster, now)
    await reconcile(cluster, { controller: daemonSetController, now })
    checkNodes(cluster, rollingUpdate)
    const limit = Math.max(before, mostUnavailable(cluster, rollingUpdate))
    expect(unavailable(cluster, now)).toBeLessThanOrEqual(limit)
  }

  async function play(one: Step): Promise<void> {
    if (one.what === 'wait') now += one.ms
    if (one.what === 'look') for (let i = 0; i < one.times; i++) await look()
    if (one.what === 'image') changeImage(cluster, one.image)
    if (one.what === 'node' && one.spec === undefined) cluster.remove('nodes', one.name)
    if (one.what === 'node' && one.spec !== undefined) {
      cluster.put('nodes', { metadata: { name: one.name, uid: one.name }, spec: one.spec })
    }
    if (one.what === 'pod') {
      const pods = nodes.pods()
      const pod = pods[one.pick % Math.max(1, pods.length)]
      if (pod !== undefined) nodes.act(pod, one.event, now)
    }
  }

  /**
   * What the cluster does in the end: taints that only keep new Pods away are removed, and Pods of nodes that are gone
   * are collected.
   */
  async function finish(): Promise<void> {
    for (const node of cluster.all('nodes')) {
      const { meta, taints } = readNode(node)
      if (taints[0]?.effect === 'NoSchedule')
        cluster.put('nodes', { metadata: { name: meta.name, uid: meta.uid } })
    }
    for (let quiet = 0; quiet < 2; ) {
      for (const pod of nodes.pods()) {
        const { nodeName, meta } = readPod(pod)
        const isLost = nodeName !== '' && cluster.get('nodes', nodeName) === undefined
        if (isLost) cluster.remove('pods', meta.key)
      }
      nodes.serve(now)
      now += 3_600_000
      const writes = await settle(cluster, daemonSetController, now)
      quiet = writes.length === 0 ? quiet + 1 : 0
    }
  }

  return { cluster, play, finish }
}

function changeImage(cluster: FakeCluster, image: string): void {
  const known = cluster.get('daemonsets', 'shop/web')!
  const spec = { template: { spec: { containers: [{ name: 'm', image }] } } }
  cluster.put('daemonsets', mergePatch(known, { spec }) as JsonObject)
}

function podsOn(cluster: FakeCluster, name: string): readonly PodObject[] {
  return cluster
    .all('pods')
    .map(readPod)
    .filter(({ nodeName, wantedNode }) => (nodeName || wantedNode) === name)
}

/** Names of the nodes that should have a Pod. */
function running(cluster: FakeCluster): readonly string[] {
  const place = placementOf(readWorkload(cluster.get('daemonsets', 'shop/web')!))
  return cluster
    .all('nodes')
    .map(readNode)
    .filter((node) => place(node) === 'run')
    .map(({ meta }) => meta.name)
}

/** Without a surge a node has one Pod that has not ended at most, in a surge two that are not being deleted. */
function checkNodes(cluster: FakeCluster, { maxSurge }: Strategy): void {
  for (const name of ['a', 'b', 'c', 'd']) {
    const pods = podsOn(cluster, name).filter(({ finished }) => !finished)
    const counted = maxSurge === 0 ? pods : pods.filter(({ meta }) => !meta.terminating)
    expect(counted.length).toBeLessThanOrEqual(maxSurge === 0 ? 1 : 2)
  }
}

/** How many nodes that should have a Pod have none that is available and stays. */
function unavailable(cluster: FakeCluster, now: number): number {
  const isServed = (name: string): boolean =>
    podsOn(cluster, name).some(
      (pod) => !pod.meta.terminating && untilAvailable(pod, MIN_READY_MS, now) === 0,
    )
  return running(cluster).filter((name) => !isServed(name)).length
}

function mostUnavailable(cluster: FakeCluster, { maxUnavailable }: Strategy): number {
  return typeof maxUnavailable === 'number'
    ? maxUnavailable
    : Math.ceil(running(cluster).length / 2)
}

/** The node, revision and readiness of every Pod, and the status. */
function shown(cluster: FakeCluster): unknown {
  const pods = cluster.all('pods').map((pod) => {
    const { nodeName, ready, meta } = readPod(pod)
    return `${nodeName} ${labelOf(pod, 'controller-revision-hash')} ${ready} ${meta.terminating}`
  })
  return [pods.toSorted(), objectAt(cluster.get('daemonsets', 'shop/web'), 'status')]
}

test('any history of Pods, nodes and templates stays within its limits, and ends as a fresh start', async () => {
  await fc.assert(
    fc.asyncProperty(
      strategy,
      fc.array(step, { maxLength: 80, size: 'max' }),
      async (limits, steps) => {
        const played = stage(limits)
        for (const one of steps) await played.play(one)
        await played.finish()
        const fresh = stage(limits)
        for (const one of steps)
          if (one.what === 'node' || one.what === 'image') await fresh.play(one)
        await fresh.finish()
        expect(shown(played.cluster)).toEqual(shown(fresh.cluster))
        const [pods] = shown(played.cluster) as [readonly string[]]
        expect(pods.map((pod) => pod[0])).toEqual(
          expect.arrayContaining([...running(played.cluster)]),
        )
      },
    ),
    { numRuns: HISTORIES },
  )
}, 120_000)
