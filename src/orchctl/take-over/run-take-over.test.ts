import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../../lib/json.ts'
import { KUBE_PROXY_RETURNING, NODE_PROXY_EVERYWHERE, type Proxy, ruleOf } from './placement.ts'
import { runTakeOver, type TakeOverResult } from './run-take-over.ts'
import { FakeCluster, nodeProxyManifests } from './testing/fake-cluster.ts'

const NAMES = ['a', 'b', 'c']
const RUNS = { numRuns: 25 }

function run(
  cluster: FakeCluster,
  proxy: Proxy,
  given: {
    readonly names?: readonly string[]
    readonly atOnce?: number
    readonly holder?: string
  } = {},
): Promise<TakeOverResult> {
  const { names, atOnce = 1, holder = 'test' } = given
  const goal = { proxy, names: names === undefined ? undefined : new Set(names) }
  const settings = { clusterCidr: '10.0.0.0/8', image: undefined, settleMs: 5_000, holder }
  const options = { goal, atOnce, manifests: nodeProxyManifests(), ...settings }
  return runTakeOver(options, cluster.environment())
}

/** Runs until the client dies, where it is to die at all. */
async function interrupted(
  cluster: FakeCluster,
  proxy: Proxy,
  crash: { readonly at: number; readonly isDone: boolean },
): Promise<void> {
  cluster.crash = { ...crash, at: cluster.requests + crash.at }
  await run(cluster, proxy).catch((error: Error) => expect(error.message).toBe('killed'))
  cluster.crash = undefined
}

const set = (cluster: FakeCluster, proxy: Proxy): JsonObject =>
  cluster.objects.get(`/apis/apps/v1/namespaces/kube-system/daemonsets/${proxy}`) ?? {}

const state = (cluster: FakeCluster) => ({
  labels: [...cluster.rules.keys()].map((node) => cluster.label(node)),
  rules: [...cluster.rules.values()].map((rules) => [...rules]),
  pods: [...cluster.pods.values()]
    .map(({ proxy, isCleanUp, node }) => `${isCleanUp ? 'clean-up-' : ''}${proxy} ${node}`)
    .toSorted(),
})

function expectTaken(cluster: FakeCluster): void {
  expect(state(cluster)).toEqual({
    labels: NAMES.map(() => 'node-proxy'),
    rules: NAMES.map(() => ['node-proxy']),
    pods: NAMES.map((name) => `node-proxy ${name}`),
  })
  expect(ruleOf(set(cluster, 'kube-proxy'))).toEqual(KUBE_PROXY_RETURNING)
  expect(ruleOf(set(cluster, 'node-proxy'))).toEqual(NODE_PROXY_EVERYWHERE)
  expect(cluster.violations).toEqual([])
}

function expectReturned(cluster: FakeCluster, stored: readonly (readonly [string, Json])[]): void {
  expect(state(cluster)).toEqual({
    labels: NAMES.map(() => ''),
    rules: NAMES.map(() => ['kube-proxy']),
    pods: NAMES.map((name) => `kube-proxy ${name}`),
  })
  expect(cluster.stored()).toEqual(stored)
  expect(cluster.violations).toEqual([])
}

const crashes = fc.array(fc.record({ at: fc.nat({ max: 250 }), isDone: fc.boolean() }), {
  maxLength: 4,
})

test('interrupted anywhere, running again ends in the full take-over', async () => {
  await fc.assert(
    fc.asyncProperty(crashes, fc.integer({ min: 1, max: 3 }), async (all, atOnce) => {
      const cluster = new FakeCluster(NAMES)
      for (const crash of all) await interrupted(cluster, 'node-proxy', crash)
      expect((await run(cluster, 'node-proxy', { atOnce })).stopped).toBeUndefined()
      expectTaken(cluster)
      expect(cluster.mostMoving).toBeLessThanOrEqual(atOnce)
    }),
    RUNS,
  )
})

test('interrupted anywhere, in either direction, --back ends in the state of the beginning', async () => {
  const turns = fc.array(fc.tuple(fc.constantFrom<Proxy>('kube-proxy', 'node-proxy'), crashes), {
    maxLength: 3,
  })
  await fc.assert(
    fc.asyncProperty(fc.boolean(), turns, async (isWhole, all) => {
      const cluster = new FakeCluster(NAMES)
      const stored = cluster.stored()
      if (isWhole) await run(cluster, 'node-proxy')
      for (const [proxy, some] of all) {
        for (const crash of some) await interrupted(cluster, proxy, crash)
      }
      expect((await run(cluster, 'kube-proxy')).stopped).toBeUndefined()
      expectReturned(cluster, stored)
    }),
    RUNS,
  )
})

test('a node whose node-proxy crashes at any time ends with kube-proxy serving it', async () => {
  const node = fc.constantFrom(...NAMES)
  await fc.assert(
    fc.asyncProperty(node, fc.nat({ max: 200 }), async (name, from) => {
      const cluster = new FakeCluster(NAMES)
      cluster.broken = { node: name, from }
      const { stopped, nodes } = await run(cluster, 'node-proxy')
      if (!cluster.hasBroken) return expectTaken(cluster)
      expect(stopped).toContain(`node ${name} got worse: Pod node-proxy-`)
      expect(stopped).toContain('CrashLoopBackOff')
      expect(nodes.find((one) => one.node === name)?.outcome).toBe('back')
      expect(cluster.label(name)).toBe('kube-proxy')
      expect([...(cluster.rules.get(name) ?? [])]).toEqual(['kube-proxy'])
      expect(cluster.violations).toEqual([])
    }),
    RUNS,
  )
})

test('named nodes move alone, and back', async () => {
  const cluster = new FakeCluster(NAMES)
  expect(await run(cluster, 'node-proxy', { names: ['b'] })).toEqual({
    nodes: [{ node: 'b', outcome: 'moved' }],
    stopped: undefined,
  })
  expect(state(cluster)).toEqual({
    labels: ['', 'node-proxy', ''],
    rules: [['kube-proxy'], ['node-proxy'], ['kube-proxy']],
    pods: ['kube-proxy a', 'kube-proxy c', 'node-proxy b'],
  })
  await run(cluster, 'kube-proxy', { names: ['b'] })
  expect(state(cluster).rules).toEqual([['kube-proxy'], ['kube-proxy'], ['kube-proxy']])
  expect(cluster.violations).toEqual([])
})

test('a node that was added after the take-over goes back with the others, and is served meanwhile', async () => {
  const cluster = new FakeCluster(NAMES)
  await run(cluster, 'node-proxy')
  cluster.addNode('d', 'node-proxy')
  expect((await run(cluster, 'kube-proxy')).stopped).toBeUndefined()
  const all = [...NAMES, 'd']
  expect(state(cluster)).toEqual({
    labels: all.map(() => ''),
    rules: all.map(() => ['kube-proxy']),
    pods: all.map((name) => `kube-proxy ${name}`),
  })
  expect(cluster.violations).toEqual([])
})

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/orchctl-take-over'
const heldBy = (holder: string): string =>
  `another run moves this cluster: ${holder} renews the Lease kube-system/orchctl-take-over`

test.each<Proxy>(['node-proxy', 'kube-proxy'])(
  'killed before or after each change on the way to %s, the next run ends it',
  async (proxy) => {
    const prepared = async (): Promise<FakeCluster> => {
      const cluster = new FakeCluster(['a'])
      if (proxy === 'kube-proxy') await run(cluster, 'node-proxy')
      return cluster
    }
    const whole = await prepared()
    const before = whole.requests
    await run(whole, proxy)
    const changes = whole.writes.filter((at) => at > before).map((at) => at - before)
    const ended = state(whole)
    expect(changes.length).toBeGreaterThan(10)
    for (const at of changes) {
      for (const isDone of [false, true]) {
        const cluster = await prepared()
        await interrupted(cluster, proxy, { at, isDone })
        expect((await run(cluster, proxy, { holder: 'next' })).stopped).toBeUndefined()
        expect({ at, isDone, ...state(cluster) }).toEqual({ at, isDone, ...ended })
        expect(cluster.stored()).toEqual(whole.stored())
        expect(cluster.violations).toEqual([])
      }
    }
  },
  60_000,
)

test('a second run is refused, with the name of the first, which goes on', async () => {
  const cluster = new FakeCluster(NAMES)
  const first = run(cluster, 'node-proxy', { holder: 'alice' })
  await expect(run(cluster, 'kube-proxy', { holder: 'bob' })).rejects.toThrow(heldBy('alice'))
  expect((await first).stopped).toBeUndefined()
  expectTaken(cluster)
  expect(cluster.objects.has(LEASE)).toBe(false)
})

test('the Lease of a run that was killed is taken over when nobody has renewed it for its duration', async () => {
  const cluster = new FakeCluster(['a'])
  await interrupted(cluster, 'node-proxy', { at: 40, isDone: true })
  expect(cluster.objects.has(LEASE)).toBe(true)
  const { clock } = cluster.environment()
  const began = clock.now()
  await run(cluster, 'node-proxy', { holder: 'next' })
  expect(cluster.lines).toContain(
    'test has the Lease kube-system/orchctl-take-over: wait up to 15 s whether it lives',
  )
  expect(clock.now() - began).toBeGreaterThanOrEqual(15_000)
  expect(cluster.objects.has(LEASE)).toBe(false)
})

test('a run whose Lease another one has got changes nothing more, and leaves the Lease', async () => {
  const cluster = new FakeCluster(NAMES)
  const running = run(cluster, 'node-proxy')
  const stolen = { kind: 'Lease', metadata: {}, spec: { holderIdentity: 'bob' } }
  const environment = cluster.environment()
  while (cluster.label('a') === '') await Promise.resolve()
  await environment.api.request({ method: 'PUT', path: LEASE, body: stolen })
  await expect(running).rejects.toThrow(heldBy('bob'))
  expect(cluster.label('b')).toBe('')
  expect(cluster.objects.get(LEASE)).toMatchObject({ spec: { holderIdentity: 'bob' } })
  expect(cluster.violations).toEqual([])
})

test.each<Proxy>(['node-proxy', 'kube-proxy'])(
  'a node that is not Ready is named in the end of the way to %s, and moves when it is Ready',
  async (proxy) => {
    const cluster = new FakeCluster(NAMES)
    const stored = cluster.stored()
    if (proxy === 'kube-proxy') await run(cluster, 'node-proxy')
    const before = cluster.label('b')
    cluster.setReady('b', false)
    expect(await run(cluster, proxy)).toEqual({
      nodes: [
        { node: 'a', outcome: 'moved' },
        { node: 'c', outcome: 'moved' },
        { node: 'b', outcome: 'skipped' },
      ],
      stopped: 'not moved, because they are not Ready: b',
    })
    expect(cluster.label('b')).toBe(before)
    cluster.setReady('b', true)
    expect((await run(cluster, proxy)).stopped).toBeUndefined()
    if (proxy === 'node-proxy') expectTaken(cluster)
    else expectReturned(cluster, stored)
  },
)
