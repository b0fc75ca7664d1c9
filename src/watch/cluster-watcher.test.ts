import { afterEach, expect, test } from 'vitest'
import { connectionTo } from '../client/connection/load-connection.ts'
import { createApiClient } from '../client/http/api-client.ts'
import type { RequestReporter } from '../client/http/api-failures.ts'
import { eventually } from '../client/testing/eventually.ts'
import { type ScriptedServer, startScriptedServer } from '../client/testing/scripted-server.ts'
import { silentReporter } from '../client/testing/silent-reporter.ts'
import { type ClusterEvent, ClusterStore } from '../cluster/cluster-store.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import type { ServiceKey } from '../resources/types.ts'
import { type ClusterWatcher, createClusterWatcher } from './cluster-watcher.ts'
import type { WatchProblem } from './feed.ts'
import { ModelCluster, SERVICE_CIDRS } from './testing/model-cluster.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

interface Watched {
  readonly server: ScriptedServer
  readonly watcher: ClusterWatcher
  readonly store: ClusterStore
  readonly batches: readonly (readonly ClusterEvent[])[]
  readonly problems: readonly WatchProblem[]
  /** How often `onSynced` was called, and after how many batches. */
  readonly synced: readonly number[]
  /** The status of each time that the server refused to list Service ranges. */
  readonly refusals: readonly number[]
}

async function watch(
  cluster: ModelCluster,
  {
    clock = systemClock,
    proxyName,
    nodeTimeoutMs = 30_000,
    reporter = silentReporter,
  }: {
    clock?: Clock
    proxyName?: string
    nodeTimeoutMs?: number
    reporter?: RequestReporter
  } = {},
): Promise<Watched> {
  const server = await startScriptedServer((arrival) => cluster.answer(arrival))
  const connection = connectionTo(server.url)
  const client = createApiClient({ connection, clock, userAgent: 'test' })
  const store = new ClusterStore()
  const batches: (readonly ClusterEvent[])[] = []
  const problems: WatchProblem[] = []
  const synced: number[] = []
  const refusals: number[] = []
  const watcher = createClusterWatcher({
    client,
    clock,
    random: { below: () => 0 },
    nodeName: 'node-1',
    reporter,
    proxyName,
    timing: { backoffBaseMs: 1, backoffMaxMs: 2 },
    nodeTimeoutMs,
    onEvents(batch) {
      batches.push(batch)
      store.apply(batch)
    },
    onSynced: () => synced.push(batches.length),
    onRangesRefused: ({ code }) => refusals.push(code),
    onProblem: (problem) => problems.push(problem),
  })
  const abort = new AbortController()
  const done = watcher.run(abort.signal)
  cleanups.push(async () => {
    abort.abort()
    await done
    await client.close()
    await server.close()
  })
  return { server, watcher, store, batches, problems, synced, refusals }
}

const WEB = 'shop/web' as ServiceKey

function smallCluster(): ModelCluster {
  const cluster = new ModelCluster()
  cluster.putService('shop/web', '10.96.0.10')
  cluster.putSlice('shop/web-1', 'web', '10.1.0.4')
  cluster.putEndpoints('shop/web', '10.1.0.5')
  cluster.putNode('node-1', 'a')
  cluster.putNode('node-2', 'b')
  return cluster
}

function endpointIps(store: ClusterStore, key: ServiceKey): readonly string[] {
  const groups = store.endpointSourcesOf(key).flatMap((source) => source.groups)
  return groups.flatMap((group) => group.endpoints.map(({ ip }) => ip))
}

/** Lets the time go on, too. */
async function advanceUntil(clock: FakeClock, condition: () => boolean): Promise<void> {
  while (!condition()) {
    await clock.advance(1_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('reports Services, endpoints and this node, then once that it is synced', async () => {
  const cluster = smallCluster()
  const { store, batches, synced, watcher } = await watch(cluster)
  await eventually(() => watcher.synced())
  expect(synced).toEqual([batches.length])
  expect(store.service(WEB)?.clusterIPs).toEqual(['10.96.0.10'])
  expect(endpointIps(store, WEB)).toEqual(['10.1.0.4'])
  expect(store.node('node-1')?.zone).toBe('a')
  expect(store.node('node-2')).toBeUndefined()
  cluster.putSlice('shop/web-1', 'web', '10.1.0.9')
  cluster.services.remove('shop/web')
  await eventually(() => store.service(WEB) === undefined)
  await eventually(() => endpointIps(store, WEB)[0] === '10.1.0.9')
  expect(synced.length).toBe(1)
  expect(watcher.state()).toMatchObject({
    synced: true,
    endpointsApi: 'discovery.k8s.io/v1',
    services: { connected: true, objects: 0, events: { deleted: 1 } },
    endpoints: { connected: true, objects: 1 },
    node: { connected: true, objects: 1 },
  })
})

test('watches have selectors, except that of Services for a proxy with a name', async () => {
  const selectors = ({ arrivals }: ScriptedServer): unknown =>
    Object.fromEntries(
      arrivals
        .filter(({ url }) => url.searchParams.has('watch'))
        .map(({ url }) => [
          url.pathname,
          url.searchParams.get('labelSelector') ?? url.searchParams.get('fieldSelector'),
        ]),
    )
  const { server, watcher } = await watch(smallCluster())
  await eventually(() => watcher.synced())
  expect(selectors(server)).toEqual({
    '/api/v1/services': '!service.kubernetes.io/service-proxy-name',
    '/apis/discovery.k8s.io/v1/endpointslices': '!service.kubernetes.io/headless',
    '/apis/networking.k8s.io/v1/servicecidrs': null,
    '/api/v1/nodes': 'metadata.name=node-1',
  })
  const named = await watch(smallCluster(), { proxyName: 'mine' })
  await eventually(() => named.watcher.synced())
  expect(selectors(named.server)).toMatchObject({ '/api/v1/services': null })
})

test.each(['services', 'endpoints', 'nodes'] as const)(
  'is not synced while the server refuses to list %s',
  async (missing) => {
    const paths = {
      services: '/api/v1/services',
      endpoints: '/apis/discovery.k8s.io/v1/endpointslices',
      nodes: '/api/v1/nodes',
    }
    const cluster = smallCluster()
    cluster.refusals.set(paths[missing], 500)
    const { watcher, synced } = await watch(cluster)
    const lists = (): number[] => {
      const { services, endpoints, node } = watcher.state()
      return [services.lists, endpoints?.lists ?? 0, node.lists]
    }
    await eventually(() => lists().reduce((sum, count) => sum + count) === 2)
    await eventually(() => {
      const { services, endpoints, node } = watcher.state()
      return services.failures + (endpoints?.failures ?? 0) + node.failures > 3
    })
    expect([watcher.synced(), synced]).toEqual([false, []])
    cluster.refusals.clear()
    await eventually(() => watcher.synced())
    expect(synced.length).toBe(1)
  },
)

test('a Node that does not exist counts as listed', async () => {
  const empty = new ModelCluster()
  const none = await watch(empty)
  await eventually(() => none.watcher.synced())
  const refused = smallCluster()
  refused.refusals.set('/api/v1/nodes', 404)
  const missing = await watch(refused)
  await eventually(() => missing.watcher.synced())
  expect(missing.store.node('node-1')).toBeUndefined()
})

test('synced is reported after nodeTimeoutMs although the Node may not be read', async () => {
  const cluster = smallCluster()
  cluster.refusals.set('/api/v1/nodes', 403)
  cluster.refusals.set('/api/v1/nodes/node-1', 403)
  const { watcher, store, synced } = await watch(cluster, { nodeTimeoutMs: 20 })
  await eventually(() => watcher.synced())
  expect(synced.length).toBe(1)
  expect(endpointIps(store, WEB)).toEqual(['10.1.0.4'])
})

test('Service ranges are followed', async () => {
  const cluster = smallCluster()
  cluster.serviceCIDRs.put('kubernetes', { cidrs: ['10.96.0.0/12', 'fd00:96::/108'] })
  const { watcher, store, refusals } = await watch(cluster)
  await eventually(() => watcher.synced())
  expect(store.serviceCIDRs).toEqual(['10.96.0.0/12', 'fd00:96::/108'])
  cluster.serviceCIDRs.put('more', { cidrs: ['172.30.0.0/16'] })
  await eventually(() => store.serviceCIDRs.length === 3)
  cluster.serviceCIDRs.remove('kubernetes')
  await eventually(() => store.serviceCIDRs.join() === '172.30.0.0/16')
  expect(refusals).toEqual([])
})

test.each([403, 404])(
  'a server that answers %i has no Service ranges, which is no failure',
  async (status) => {
    const cluster = smallCluster()
    cluster.refusals.set(SERVICE_CIDRS, status)
    const failed: unknown[] = []
    const reporter = { ...silentReporter, failed: (...one: unknown[]) => void failed.push(one) }
    const { watcher, store, refusals } = await watch(cluster, { reporter })
    await eventually(() => watcher.synced())
    expect(store.serviceCIDRs).toEqual([])
    expect([refusals, failed]).toEqual([[status], []])
  },
)

test('ranges of a server that loses their API stay; when it has it again, what is gone goes', async () => {
  const cluster = smallCluster()
  cluster.serviceCIDRs.put('old', { cidrs: ['172.30.0.0/16'] })
  cluster.serviceCIDRs.put('kubernetes', { cidrs: ['10.96.0.0/12'] })
  const clock = new FakeClock()
  const { watcher, store, refusals } = await watch(cluster, { clock })
  await eventually(() => watcher.synced())
  cluster.refusals.set(SERVICE_CIDRS, 404)
  cluster.restart()
  await advanceUntil(clock, () => refusals.length === 1)
  expect(store.serviceCIDRs).toEqual(['10.96.0.0/12', '172.30.0.0/16'])
  cluster.serviceCIDRs.remove('old')
  cluster.refusals.delete(SERVICE_CIDRS)
  await advanceUntil(clock, () => store.serviceCIDRs.length === 1)
  expect(store.serviceCIDRs).toEqual(['10.96.0.0/12'])
})

test('an object that cannot be decoded is reported and absent, and the others are used', async () => {
  const cluster = smallCluster()
  cluster.putService('shop/api', '10.96.0.11')
  const { store, problems, watcher } = await watch(cluster)
  await eventually(() => watcher.synced())
  cluster.services.put('shop/web', { type: 'Nonsense', ports: 7 })
  cluster.services.put('shop/"; DROP', { type: 'ClusterIP' })
  cluster.putService('shop/db', '10.96.0.12')
  await eventually(() => store.service('shop/db' as ServiceKey) !== undefined)
  expect(store.service('shop/api' as ServiceKey)).toBeDefined()
  const names = problems.map(({ resource, key, kind }) => `${resource} ${key} ${kind}`)
  expect(names).toContain('services shop/"; DROP invalid')
  expect(problems[0]?.problems[0]?.field).toBeTypeOf('string')
})

test.each([
  [['v1beta1'], 'discovery.k8s.io/v1beta1', '10.1.0.4'],
  [[], 'v1', '10.1.0.5'],
] as const)(
  'endpoints come from the best API of a server with versions %j of discovery: %s',
  async (discovery, api, ip) => {
    const cluster = smallCluster()
    cluster.discovery = discovery
    const { store, watcher } = await watch(cluster)
    await eventually(() => watcher.synced())
    expect(watcher.state().endpointsApi).toBe(api)
    expect(endpointIps(store, WEB)).toEqual([ip])
  },
)

test('when the server loses an API version, one batch replaces its objects by those of the next', async () => {
  const cluster = smallCluster()
  cluster.putSlice('shop/other-1', 'other', '10.1.0.7')
  cluster.discovery = ['v1beta1']
  const { store, watcher, batches } = await watch(cluster)
  await eventually(() => watcher.synced())
  const before = batches.length
  cluster.slices.remove('shop/other-1')
  await eventually(() => batches.length > before)
  cluster.putSlice('shop/other-1', 'other', '10.1.0.7')
  await eventually(() => endpointIps(store, 'shop/other' as ServiceKey).length === 1)
  const known = batches.length
  cluster.discovery = []
  cluster.restart()
  await eventually(
    () => watcher.state().endpointsApi === 'v1' && (watcher.state().endpoints?.lists ?? 0) > 0,
  )
  const switching = batches.slice(known).filter((batch) => batch[0]?.kind === 'endpoints')
  expect(switching.length).toBe(1)
  expect(
    switching[0]?.map((event) => [
      event.kind === 'endpoints' && event.name,
      event.value !== undefined,
    ]),
  ).toEqual([
    ['shop/web-1', false],
    ['shop/other-1', false],
    ['shop/web', true],
  ])
  expect(endpointIps(store, WEB)).toEqual(['10.1.0.5'])
  expect(endpointIps(store, 'shop/other' as ServiceKey)).toEqual([])
})

test('slices are followed as soon as discovery finds them on a server that only had Endpoints', async () => {
  const cluster = smallCluster()
  cluster.discovery = []
  const clock = new FakeClock()
  const { store, watcher } = await watch(cluster, { clock })
  await eventually(() => watcher.synced())
  cluster.discovery = ['v1beta1', 'v1']
  await clock.advance(299_000)
  await eventually(() => watcher.state().endpoints?.connected === true)
  expect(watcher.state().endpointsApi).toBe('v1')
  await clock.advance(1_000)
  await eventually(() => clock.pending().some((delay) => delay <= 2))
  await clock.advance(2)
  await eventually(() => watcher.state().endpointsApi === 'discovery.k8s.io/v1')
  await eventually(() => endpointIps(store, WEB)[0] === '10.1.0.4')
  expect(endpointIps(store, WEB)).toEqual(['10.1.0.4'])
})

test('failures are reported until the server is there, then the cluster is listed', async () => {
  const cluster = smallCluster()
  cluster.refusals.set('/apis/discovery.k8s.io', 503)
  const { watcher, server } = await watch(cluster)
  const requests = (): number =>
    server.arrivals.filter(({ url }) => url.pathname === '/apis/discovery.k8s.io').length
  await eventually(() => requests() > 2)
  expect(watcher.state()).toMatchObject({
    synced: false,
    endpointsApi: undefined,
    discoveryFailure: { code: 503 },
  })
  cluster.refusals.clear()
  await eventually(() => watcher.synced())
  expect(watcher.state().discoveryFailure).toBeUndefined()
})

test('an outage reports no change, shows in the state, and ends by itself', async () => {
  const cluster = smallCluster()
  const { store, watcher, batches } = await watch(cluster)
  await eventually(() => watcher.synced())
  const before = batches.length
  for (const path of ['/api/v1/services', '/apis/discovery.k8s.io/v1/endpointslices']) {
    cluster.refusals.set(path, 503)
  }
  cluster.services.disconnect(true)
  cluster.slices.disconnect(true)
  await eventually(() => watcher.state().services.failures > 3)
  expect(batches.length).toBe(before)
  expect(watcher.state()).toMatchObject({
    synced: true,
    services: { connected: false, lastFailure: { code: 503 } },
  })
  cluster.services.remove('shop/web')
  cluster.refusals.clear()
  await eventually(() => store.service(WEB) === undefined)
  await eventually(() => watcher.state().services.connected)
  expect(endpointIps(store, WEB)).toEqual(['10.1.0.4'])
})

test('a failure of one API of endpoints is over once another one is followed', async () => {
  const cluster = smallCluster()
  cluster.discovery = []
  cluster.refusals.set('/apis/discovery.k8s.io', 503)
  const outcomes: string[] = []
  const reporter: RequestReporter = {
    failed: ({ verb, resource }) => void outcomes.push(`${verb} ${resource} failed`),
    succeeded: (resource) => void outcomes.push(`${resource} succeeded`),
  }
  const { watcher } = await watch(cluster, { reporter })
  await eventually(() => outcomes.includes('discover endpointslices failed'))
  cluster.refusals.clear()
  await eventually(() => watcher.synced())
  expect(outcomes).toContain('endpointslices succeeded')
  expect(outcomes).toContain('endpoints succeeded')
})
