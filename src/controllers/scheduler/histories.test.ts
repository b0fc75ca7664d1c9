import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { readMeta } from '../objects/object-meta.ts'
import { alone, Runner } from '../runner/runner.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import { conditionOf } from '../testing/fixtures.ts'
import { createRecordingObserver } from '../testing/recording-observer.ts'
import { scheduler } from './scheduler-controller.ts'
import { nameOf, overloads, permittedNodes, podsOn } from './testing/naive-scheduler.ts'
import { worker } from './testing/placements.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 150)

const KEYS = ['kubernetes.io/hostname', 'zone', 'disk']
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution'

type Values<A> = A extends fc.Arbitrary<infer T> ? T : never

const app = fc.constantFrom('web', 'db')
const key = fc.constantFrom(...KEYS)
const rarely = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 3 })
const effect = fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule')

/** What a node is, by its number: its size never changes, so that nothing but the scheduler overloads it. */
const nodeParts = fc.record({
  serial: fc.nat({ max: 4 }),
  disk: rarely(fc.constantFrom('fast', '8')),
  unschedulable: fc.boolean(),
  state: fc.constantFrom('True', 'True', 'True', 'False', 'Unknown'),
  taint: rarely(
    fc.record({ key: fc.constantFrom('a', 'b'), value: fc.constantFrom('', 'v'), effect }),
  ),
})

function nodeOf({ serial, disk, unschedulable, state, taint }: Values<typeof nodeParts>) {
  const zone = serial === 4 ? {} : { zone: `z${serial % 2}` }
  return worker(`n${serial}`, {
    labels: { ...zone, ...(disk && { disk }) },
    cpu: String(1 + (serial % 3)),
    memory: '1000',
    pods: '4',
    others: serial === 0 ? { 'example.com/gpu': '1' } : {},
    spec: { unschedulable: unschedulable && state === 'True', taints: taint ? [taint] : [] },
    ready: { type: 'Ready', status: state },
  })
}

const requests = fc.record(
  {
    cpu: fc.constantFrom('100m', '500m', '1', '2'),
    memory: fc.constantFrom('0', '200', '600'),
    'example.com/gpu': fc.constant('1'),
  },
  { requiredKeys: [] },
)
const podTerm = fc
  .record({ topologyKey: key, app, namespaces: rarely(fc.constant(['shop', 'other'])) })
  .map(({ app, ...rest }) => ({ ...rest, labelSelector: { matchLabels: { app } } }))
const terms = rarely(fc.array(podTerm, { minLength: 1, maxLength: 2 }))
const expression = fc.oneof(
  fc.record({
    key: fc.constantFrom('disk', 'zone'),
    operator: fc.constantFrom('In', 'NotIn'),
    values: fc.constantFrom(['fast'], ['z0'], ['z0', '8']),
  }),
  fc.record({ key: fc.constant('disk'), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  fc.record({
    key: fc.constant('disk'),
    operator: fc.constantFrom('Gt', 'Lt'),
    values: fc.constantFrom(['7'], ['8'], ['9']),
  }),
)
const nodeTerms = rarely(
  fc.array(
    fc.array(expression, { maxLength: 2 }).map((matchExpressions) => ({ matchExpressions })),
    { minLength: 1, maxLength: 2 },
  ),
)
const toleration = fc.oneof(
  fc.record({ key: fc.constantFrom('a', 'b'), value: fc.constantFrom('', 'v'), effect }),
  fc.record({ operator: fc.constant('Exists'), effect }),
  fc.record({
    key: fc.constantFrom('node.kubernetes.io/unschedulable', 'node.kubernetes.io/not-ready'),
    operator: fc.constant('Exists'),
  }),
)
const spread = fc
  .record({ topologyKey: key, maxSkew: fc.constantFrom(1, 2), app })
  .map(({ app, ...rest }) => ({
    ...rest,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app } },
  }))

const podParts = fc.record({
  app,
  namespace: fc.constantFrom('shop', 'shop', 'other'),
  priority: fc.nat({ max: 2 }),
  requests,
  init: rarely(fc.record({ requests, restartPolicy: rarely(fc.constant('Always')) })),
  hostPort: rarely(fc.constantFrom(80, 81)),
  near: terms,
  far: terms,
  nodeTerms,
  preferred: rarely(podTerm),
  tolerations: fc.array(toleration, { maxLength: 2 }),
  spread: rarely(fc.array(spread, { minLength: 1, maxLength: 2 })),
})

function podOf(serial: number, parts: Values<typeof podParts>) {
  const { hostPort, init, near, far, nodeTerms, preferred, spread } = parts
  const resources = { requests: parts.requests }
  const initial = init && {
    name: 'i',
    resources: { requests: init.requests },
    ...(init.restartPolicy && { restartPolicy: init.restartPolicy }),
  }
  return {
    metadata: { name: `p${serial}`, namespace: parts.namespace, labels: { app: parts.app } },
    spec: {
      priority: parts.priority,
      containers: [{ name: 'm', resources, ports: hostPort ? [{ hostPort }] : [] }],
      ...(initial && { initContainers: [initial] }),
      tolerations: parts.tolerations,
      affinity: {
        ...(near && { podAffinity: { [REQUIRED]: near } }),
        podAntiAffinity: {
          ...(far && { [REQUIRED]: far }),
          ...(preferred && { [PREFERRED]: [{ weight: 1, podAffinityTerm: preferred }] }),
        },
        ...(nodeTerms && { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: nodeTerms } } }),
      },
      ...(spread && { topologySpreadConstraints: spread }),
    },
    status: { phase: 'Pending' },
  } as unknown as JsonObject
}

const at = fc.nat({ max: 9 })

/** A change; one of a Pod is of the `at`th of all, if there are so many. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('node'), node: nodeParts }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('pod'), pod: podParts }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lost node'), at: fc.nat({ max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('gone'), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ended'), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('relabelled'), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('marked'), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('relist') }) },
)

type Step = { readonly kind: string; readonly at?: number } & {
  readonly node?: Values<typeof nodeParts>
  readonly pod?: Values<typeof podParts>
}

const withMeta = (pod: JsonObject, metadata: JsonObject): JsonObject => ({
  ...pod,
  metadata: { ...objectAt(pod, 'metadata'), ...metadata },
})

const CHANGES: Readonly<Record<string, (pod: JsonObject) => JsonObject>> = {
  ended: (pod) => ({ ...pod, status: { ...objectAt(pod, 'status'), phase: 'Failed' } }),
  relabelled: (pod) => withMeta(pod, { labels: { app: 'db' } }),
  marked: (pod) => withMeta(pod, { deletionTimestamp: '2030-01-01T00:00:00Z' }),
}

function apply({ kind, at = 0, node, pod }: Step, cluster: FakeCluster, serial: number): void {
  if (node !== undefined) cluster.put('nodes', nodeOf(node))
  if (pod !== undefined) cluster.put('pods', podOf(serial, pod))
  if (kind === 'relist') cluster.relist()
  if (kind === 'lost node') cluster.remove('nodes', `n${at}`)
  const known = cluster.all('pods')[at]
  if (known === undefined) return
  const change = CHANGES[kind]
  if (kind === 'gone') cluster.remove('pods', readMeta(known).key)
  else if (change !== undefined) cluster.put('pods', change(known))
}

/** Every step, then a moment in which the scheduler may act. */
async function play(steps: readonly (readonly [Step, boolean])[]) {
  const clock = new FakeClock()
  const cluster = createFakeCluster(clock)
  const stop = new AbortController()
  cluster.intercept = async (write) => {
    if (write.verb !== 'bind') return undefined
    expect(permitted(cluster, write.meta.key)).toContain(write.nodeName)
    return undefined
  }
  const observer = createRecordingObserver()
  const { follower, writer } = cluster
  const parts = { follower, clock, observer, leadership: alone, writerOf: () => writer }
  const running = new Runner({ ...parts, controllers: [scheduler] }).run(stop.signal)
  for (const [serial, [change, acts]] of steps.entries()) {
    apply(change, cluster, serial)
    if (acts) await settle(clock, cluster)
  }
  await settle(clock, cluster)
  stop.abort()
  await running
  expect(observer.records.filter((one) => one.startsWith('problem'))).toEqual([])
}

function permitted(cluster: FakeCluster, key: string): readonly string[] {
  const pod = objectAt(cluster.get('pods', key))
  return permittedNodes(pod, { nodes: cluster.all('nodes'), pods: cluster.all('pods') })
}

async function settle(clock: FakeClock, cluster: FakeCluster): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    await clock.advance(250)
    await setImmediate()
  }
  const [nodes, pods] = [cluster.all('nodes'), cluster.all('pods')]
  for (const node of nodes) {
    const on = podsOn(node, { nodes, pods })
    for (const last of on) {
      const order = [...on.filter((one) => one !== last), last]
      expect([nameOf(node), ...overloads(node, order)]).toEqual([nameOf(node)])
    }
  }
  for (const pod of pods) {
    const { key, terminating } = readMeta(pod)
    const isOver = stringAt(pod, 'status', 'phase') === 'Failed'
    if (stringAt(pod, 'spec', 'nodeName') !== '' || terminating || isOver) continue
    expect([key, ...permitted(cluster, key)]).toEqual([key])
    expect(conditionOf(pod, 'PodScheduled')).toMatchObject({ status: 'False' })
  }
}

test('every binding is permitted, no node is overloaded, and no Pod waits that fits somewhere', async () => {
  const history = fc.array(fc.tuple(step, fc.boolean()), {
    minLength: 5,
    maxLength: 40,
    size: 'max',
  })
  await fc.assert(fc.asyncProperty(history, play), { numRuns: HISTORIES })
}, 600_000)
