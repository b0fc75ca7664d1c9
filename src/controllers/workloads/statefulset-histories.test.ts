import fc from 'fast-check'
import { expect, test } from 'vitest'
import { objectAt } from '../../lib/json.ts'
import { type PodObject, readPod } from '../objects/pod-object.ts'
import { readWorkload } from '../objects/workload-object.ts'
import { untilAvailable } from './shared/pods-of.ts'
import { membersOf, policyOf } from './statefulset/set-members.ts'
import { labelOf, type PodEvent } from './testing/simulated-nodes.ts'
import { NOW, statefulScene, statefulSet, templateWith } from './testing/stateful-scene.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 150)
const MIN_READY_MS = 10_000

/** What is decided before a history. */
interface Strategy {
  readonly podManagementPolicy: 'OrderedReady' | 'Parallel'
  readonly maxUnavailable: number
  readonly partition: number
}

type Step =
  | { readonly what: 'pod'; readonly pick: number; readonly event: PodEvent }
  | { readonly what: 'image'; readonly image: string }
  | { readonly what: 'scale'; readonly replicas: number }
  | { readonly what: 'wait'; readonly ms: number }
  | { readonly what: 'look'; readonly times: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('pod' as const),
      pick: fc.nat(20),
      event: fc.constantFrom<PodEvent>(
        'bind',
        'bind',
        'ready',
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
  fc.record({ what: fc.constant('image' as const), image: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ what: fc.constant('scale' as const), replicas: fc.integer({ min: 0, max: 4 }) }),
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('wait' as const),
      ms: fc.constantFrom(1_000, 10_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('look' as const),
      times: fc.integer({ min: 1, max: 4 }),
    }),
  },
)

const strategy: fc.Arbitrary<Strategy> = fc.record({
  podManagementPolicy: fc.constantFrom('OrderedReady' as const, 'Parallel' as const),
  maxUnavailable: fc.constantFrom(1, 2),
  partition: fc.constantFrom(0, 0, 1),
})

/** A cluster in which a history is played; `look` lets the controller reconcile once, and checks what it did. */
function stage({ podManagementPolicy, ...rollingUpdate }: Strategy) {
  const scene = statefulScene(
    statefulSet({
      podManagementPolicy,
      minReadySeconds: MIN_READY_MS / 1_000,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate },
    }),
  )
  let now = NOW
  const members = () =>
    membersOf(
      readWorkload(scene.cluster.get('statefulsets', 'shop/web')!),
      scene.cluster.all('pods').map(readPod),
      scene.cluster.view,
    )
  const isAvailable = (pod: PodObject | undefined): boolean =>
    pod !== undefined && !pod.meta.terminating && untilAvailable(pod, MIN_READY_MS, now) === 0
  const unavailable = () => members().slots.filter(({ pod }) => !isAvailable(pod)).length

  async function look(): Promise<void> {
    const before = members().slots
    const weak = unavailable()
    await scene.run(now)
    const { maxUnavailable } = policyOf(
      readWorkload(scene.cluster.get('statefulsets', 'shop/web')!),
    )
    expect(unavailable()).toBeLessThanOrEqual(Math.max(weak, maxUnavailable))
    const made = members().slots.filter(
      ({ pod, index }) => pod !== undefined && pod.meta.uid !== before[index]?.pod?.meta.uid,
    )
    if (podManagementPolicy === 'Parallel') return
    expect(made.length).toBeLessThanOrEqual(1)
    for (const { index } of made) {
      for (const { pod } of before.slice(0, index)) expect(isAvailable(pod)).toBe(true)
    }
  }

  async function play(one: Step): Promise<void> {
    if (one.what === 'wait') now += one.ms
    if (one.what === 'look') for (let i = 0; i < one.times; i++) await look()
    if (one.what === 'image') scene.change({ template: templateWith(one.image) })
    if (one.what === 'scale') scene.change({ replicas: one.replicas })
    if (one.what === 'pod') {
      const pods = scene.pods()
      const pod = pods[one.pick % Math.max(1, pods.length)]
      if (pod !== undefined) scene.act(pod, one.event, now)
    }
  }

  /** Lets the nodes serve and the controller reconcile until nothing changes. */
  async function finish(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      now += 3_600_000
      scene.serve(now)
      now += 3_600_000
      const writes = await scene.settled(now)
      quiet = writes.length === 0 ? quiet + 1 : 0
    }
  }

  /** The names, revisions and readiness of the Pods, and the status. */
  function shown(): unknown {
    const pods = scene.pods().map((pod) => {
      const { meta, ready } = readPod(pod)
      return `${meta.name} ${labelOf(pod, 'controller-revision-hash')} ${ready}`
    })
    return [pods, objectAt(scene.cluster.get('statefulsets', 'shop/web'), 'status')]
  }

  return { play, finish, shown, members, isAvailable }
}

test('any history of Pods, sizes and templates keeps its order and limits, and ends as a fresh start', async () => {
  await fc.assert(
    fc.asyncProperty(
      strategy,
      fc.array(step, { maxLength: 80, size: 'max' }),
      async (policy, steps) => {
        const played = stage(policy)
        for (const one of steps) await played.play(one)
        await played.finish()
        const { slots, condemned } = played.members()
        expect(condemned).toEqual([])
        expect(slots.filter(({ pod }) => !played.isAvailable(pod))).toEqual([])
        // What is below the partition keeps a template of the past.
        if (policy.partition > 0) return
        const fresh = stage(policy)
        for (const one of steps) {
          if (one.what === 'scale' || one.what === 'image') await fresh.play(one)
        }
        await fresh.finish()
        expect(played.shown()).toEqual(fresh.shown())
      },
    ),
    { numRuns: HISTORIES },
  )
}, 120_000)
