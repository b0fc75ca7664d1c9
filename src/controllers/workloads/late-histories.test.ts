import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { CollectionName } from '../cache/collection-route.ts'
import { type PodObject, readPod } from '../objects/pod-object.ts'
import { conditionOf } from '../testing/fixtures.ts'
import { isActive } from './shared/surplus-pods.ts'
import { isOfJob, LateWorld } from './testing/late-world.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 12)
const NODES = ['node-a', 'node-b', 'node-c']
const COMPLETIONS = 5
const PARALLELISM = 2

interface Sizes {
  readonly replicas: number
  readonly maxSurge: number
  readonly maxUnavailable: number
}

/** What happens next: `at` chooses the object that it happens to. */
interface Step {
  readonly what: keyof typeof EVENTS
  readonly at: number
}

const EVENTS = {
  arrive: async (world: LateWorld, at: number) => {
    for (let count = 0; count <= at % 4; count++) {
      world.arrive(at + count)
      await world.clock.advance(0)
    }
  },
  bind: (world: LateWorld, at: number) => world.act(at, 'bind'),
  ready: (world: LateWorld, at: number) => world.act(at, 'ready'),
  end: (world: LateWorld, at: number) => world.act(at, 'end'),
  succeed: (world: LateWorld, at: number) => world.act(at, 'succeed', isOfJob),
  wait: (world: LateWorld, at: number) => world.clock.advance(10 ** (at % 5)),
  template: (world: LateWorld, at: number) => {
    const [collection, name] = TEMPLATED[at % TEMPLATED.length]!
    world.edit(collection, name, { template: template(name, at % 4) })
  },
  unready: (world: LateWorld, at: number) => world.act(at, 'unready'),
  fail: (world: LateWorld, at: number) => world.act(at, 'fail'),
  delete: (world: LateWorld, at: number) => world.act(at, 'delete'),
  lose: (world: LateWorld) => world.loseAnswer(),
  scale: (world: LateWorld, at: number) => {
    const [collection, name] = at % 2 === 0 ? DEPLOYMENT : STATEFUL_SET
    world.edit(collection, name, { replicas: at % 5 })
  },
  /** A user deletes a ReplicaSet; the garbage collector deletes its Pods, and the Deployment makes another. */
  forget: (world: LateWorld, at: number) => {
    const sets = world.cluster.all('replicasets')
    const name = stringAt(sets[at % Math.max(1, sets.length)], 'metadata', 'name')
    if (name !== '') world.cluster.remove('replicasets', `shop/${name}`)
  },
  /** A node is lost, and its Pods with it, or it comes back. */
  node: (world: LateWorld, at: number) => {
    const name = NODES[at % NODES.length]!
    if (world.cluster.get('nodes', name) === undefined)
      return world.cluster.put('nodes', node(name))
    world.cluster.remove('nodes', name)
    for (const pod of world.cluster.all('pods')) {
      const { meta, nodeName } = readPod(pod)
      if (nodeName === name && !isOfJob(pod)) world.cluster.remove('pods', meta.key)
    }
  },
}

const DEPLOYMENT = ['deployments', 'web'] as const
const STATEFUL_SET = ['statefulsets', 'db'] as const
const DAEMON_SET = ['daemonsets', 'agent'] as const
const TEMPLATED = [DEPLOYMENT, STATEFUL_SET, DAEMON_SET]

function template(app: string, version: number): JsonObject {
  return {
    metadata: { labels: { app } },
    spec: { containers: [{ name: 'main', image: `${app}:${version}` }] },
  }
}

function workload(name: string, spec: JsonObject): JsonObject {
  return {
    metadata: { name, namespace: 'shop', uid: name, generation: 1 },
    spec: { selector: { matchLabels: { app: name } }, template: template(name, 0), ...spec },
  }
}

function node(name: string): JsonObject {
  return { metadata: { name, uid: name } }
}

async function started({ replicas, maxSurge, maxUnavailable }: Sizes): Promise<LateWorld> {
  const world = new LateWorld()
  const rolling = { type: 'RollingUpdate' }
  const once = template('sum', 0)
  const objects: readonly (readonly [CollectionName, JsonObject])[] = [
    ...NODES.map((name) => ['nodes', node(name)] as const),
    [
      'deployments',
      workload('web', {
        replicas,
        strategy: { ...rolling, rollingUpdate: { maxSurge, maxUnavailable } },
        revisionHistoryLimit: 1,
      }),
    ],
    ['statefulsets', workload('db', { replicas: 3, updateStrategy: rolling })],
    [
      'daemonsets',
      workload('agent', {
        updateStrategy: { ...rolling, rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      }),
    ],
  ]
  await world.start(objects)
  world.cluster.put(
    'jobs',
    workload('sum', {
      parallelism: PARALLELISM,
      completions: COMPLETIONS,
      backoffLimit: 1_000,
      completionMode: 'NonIndexed',
      template: { ...once, spec: { ...objectAt(once, 'spec'), restartPolicy: 'Never' } },
    }),
  )
  return world
}

/** The Pods of a workload, by the label that all of them have. */
function podsOf(world: LateWorld, app: string): readonly PodObject[] {
  return world.cluster
    .all('pods')
    .map(readPod)
    .filter(({ meta }) => meta.labels['app'] === app)
}

function isAvailable(pod: PodObject): boolean {
  return isActive(pod) && pod.ready
}

/** The limits of rollouts, which hold at each moment where Pods only become ready and end. */
function checkLimits(world: LateWorld, { replicas, maxSurge, maxUnavailable }: Sizes): void {
  const [web, db, agent, sum] = ['web', 'db', 'agent', 'sum'].map((app) => podsOf(world, app))
  expect(web!.filter(isActive).length).toBeLessThanOrEqual(replicas + maxSurge)
  expect(web!.filter(isAvailable).length).toBeGreaterThanOrEqual(replicas - maxUnavailable)
  expect(db!.filter(isAvailable).length).toBeGreaterThanOrEqual(2)
  expect(agent!.filter(isAvailable).length).toBeGreaterThanOrEqual(NODES.length - 1)
  const places = agent!.filter(isActive).map(({ nodeName, wantedNode }) => nodeName || wantedNode)
  expect(new Set(places).size).toBe(places.length)
  expect(sum!.filter(isActive).length).toBeLessThanOrEqual(PARALLELISM)
}

/** Lets everything arrive, and compares what is there with what the workloads require. */
async function checkEnd(world: LateWorld): Promise<void> {
  for (const name of NODES) {
    if (world.cluster.get('nodes', name) === undefined) world.cluster.put('nodes', node(name))
  }
  await world.settle()
  expect(world.faults()).toEqual([])
  for (const [collection, name] of TEMPLATED) {
    const { spec, status } = world.cluster.get(collection, `shop/${name}`)!
    const wanted = collection === 'daemonsets' ? NODES.length : Number(objectAt(spec)['replicas'])
    // Of a ReplicaSet, Pods that failed stay.
    const pods = podsOf(world, name).filter(isActive)
    expect([name, pods.filter(isAvailable).length, pods.length]).toEqual([name, wanted, wanted])
    const template = JSON.stringify(objectAt(spec, 'template', 'spec')['containers'])
    for (const { meta } of pods) {
      const pod = world.cluster.get('pods', meta.key)
      expect(JSON.stringify(objectAt(pod, 'spec')['containers'])).toBe(template)
    }
    const counts = objectAt(status)
    const ready = counts['readyReplicas'] ?? counts['numberReady'] ?? 0
    expect([name, ready]).toEqual([name, wanted])
  }
  const job = world.cluster.get('jobs', 'shop/sum')
  expect(stringAt(conditionOf(job, 'Complete'), 'status')).toBe('True')
  expect(objectAt(job, 'status')).toMatchObject({ succeeded: COMPLETIONS })
}

const sizes: fc.Arbitrary<Sizes> = fc
  .record({
    replicas: fc.integer({ min: 1, max: 4 }),
    maxSurge: fc.integer({ min: 0, max: 2 }),
    maxUnavailable: fc.integer({ min: 0, max: 1 }),
  })
  .filter(({ maxSurge, maxUnavailable }) => maxSurge + maxUnavailable > 0)

function steps(...names: readonly Step['what'][]): fc.Arbitrary<Step[]> {
  const arrivals = Array.from({ length: 8 }, () => 'arrive' as const)
  const often: readonly Step['what'][] = [
    'bind',
    'bind',
    'ready',
    'ready',
    'end',
    'succeed',
    'wait',
  ]
  const what = fc.constantFrom(...arrivals, ...often, ...names)
  return fc.array(fc.record({ what, at: fc.nat(60) }), { maxLength: 160, size: 'max' })
}

/** Plays a history, with `check` after each step and `checkEnd` at the end. */
async function play(
  of: Sizes,
  history: readonly Step[],
  check: (world: LateWorld) => void = () => undefined,
): Promise<void> {
  const world = await started(of)
  try {
    for (const { what, at } of history) {
      await EVENTS[what](world, at)
      await world.clock.advance(0)
      check(world)
    }
    await checkEnd(world)
  } finally {
    await world.stop()
  }
}

test('rollouts keep their limits, however late answers and events arrive', async () => {
  await fc.assert(
    fc.asyncProperty(sizes, steps('template', 'template'), async (of, history) =>
      play(of, history, (world) => checkLimits(world, of)),
    ),
    { numRuns: HISTORIES },
  )
})

test('whatever happens, and whatever is lost, workloads come to what they require', async () => {
  const others = [
    'template',
    'unready',
    'fail',
    'delete',
    'lose',
    'scale',
    'forget',
    'node',
  ] as const
  await fc.assert(
    fc.asyncProperty(sizes, steps(...others), async (of, history) => play(of, history)),
    { numRuns: HISTORIES },
  )
})
