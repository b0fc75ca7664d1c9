import { afterEach, expect, test } from 'vitest'
import { connectionTo } from '../client/connection/load-connection.ts'
import { createApiClient } from '../client/http/api-client.ts'
import { eventually } from '../client/testing/eventually.ts'
import { startScriptedServer } from '../client/testing/scripted-server.ts'
import { silentReporter } from '../client/testing/silent-reporter.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import type { PolicyEvent } from '../policy/policy-content.ts'
import { createPolicyWatcher } from './policy-watcher.ts'
import { CLUSTER_POLICIES, ModelCluster, POLICY_PATHS } from './testing/model-cluster.ts'

const HOUR_MS = 3_600_000
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

function someCluster(): ModelCluster {
  const cluster = new ModelCluster()
  const { policies } = cluster
  policies.namespaces.put('shop', {}, { labels: { team: 'shop' } })
  policies.pods.put('shop/web', { nodeName: 'n1' }, { status: { podIPs: [{ ip: '10.0.0.4' }] } })
  policies.networkpolicies.put('shop/deny', { podSelector: {} })
  return cluster
}

async function watch(cluster: ModelCluster, clock: Clock = systemClock) {
  const server = await startScriptedServer((arrival) => cluster.answer(arrival))
  const connection = connectionTo(server.url)
  const client = createApiClient({ connection, clock, userAgent: 'test' })
  const known = new Map<string, PolicyEvent>()
  const calls: string[] = []
  const failed: unknown[] = []
  const problems: string[] = []
  const watcher = createPolicyWatcher({
    client,
    clock,
    random: { below: () => 0 },
    timing: { backoffBaseMs: 1, backoffMaxMs: 2 },
    reporter: { ...silentReporter, failed: (...one: unknown[]) => void failed.push(one) },
    onProblem: ({ key, problems: all }) => problems.push(`${key} ${all[0]?.field}`),
    onEvents(events) {
      for (const event of events) apply(known, event)
    },
    onSynced: () => calls.push(`synced ${known.size}`),
    onRefused: ({ resources, failure }) => calls.push(`${failure.code} ${resources.join()}`),
    onPermitted: () => calls.push('permitted'),
    onClusterPoliciesForbidden: (failure) => calls.push(`cluster policies ${failure?.code}`),
  })
  const abort = new AbortController()
  const done = watcher.run(abort.signal)
  cleanups.push(async () => {
    abort.abort()
    await done
    await client.close()
    await server.close()
  })
  return { server, watcher, known, calls, failed, problems }
}

function apply(known: Map<string, PolicyEvent>, event: PolicyEvent): void {
  if (event.kind === 'node') return
  const name = event.kind === 'namespace' ? event.name : event.key
  const isGone = (event.kind === 'namespace' ? event.labels : event.value) === undefined
  if (isGone) known.delete(`${event.kind} ${name}`)
  else known.set(`${event.kind} ${name}`, event)
}

async function advanceUntil(clock: FakeClock, condition: () => boolean): Promise<void> {
  const end = clock.now() + HOUR_MS
  while (!condition()) {
    expect(clock.now()).toBeLessThan(end)
    await clock.advance(1_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('policies, Pods and namespaces are reported, then that all are listed, then changes', async () => {
  const cluster = someCluster()
  const { known, calls, watcher } = await watch(cluster)
  await eventually(() => calls.length === 2)
  expect(calls).toEqual(['permitted', 'synced 3'])
  expect(known.get('namespace shop')).toMatchObject({ labels: { team: 'shop' } })
  expect(known.get('pod shop/web')).toMatchObject({ value: { ips: ['10.0.0.4'], nodeName: 'n1' } })
  expect(known.get('policy shop/deny')).toMatchObject({ value: { rules: { ingress: [] } } })
  cluster.policies.networkpolicies.remove('shop/deny')
  cluster.policies.namespaces.put('bare', {})
  await eventually(() => known.size === 3 && known.has('namespace bare'))
  expect(known.get('namespace bare')).toMatchObject({ labels: {} })
  expect(watcher.state().map(({ resource, state }) => [resource, state?.connected])).toEqual([
    ['networkpolicies', true],
    ['pods', true],
    ['namespaces', true],
  ])
})

test('what the server refuses is named, checked again, and no failure', async () => {
  const cluster = someCluster()
  const clock = new FakeClock()
  cluster.refusals.set(POLICY_PATHS.networkpolicies, 403)
  cluster.refusals.set(POLICY_PATHS.namespaces, 403)
  const { calls, failed, known } = await watch(cluster, clock)
  await advanceUntil(clock, () => calls.length === 1)
  expect([clock.now(), calls]).toEqual([expect.any(Number), ['403 networkpolicies,namespaces']])
  const first = clock.now()
  await advanceUntil(clock, () => calls.length === 2)
  expect(clock.now() - first).toBeLessThan(60_000)
  cluster.refusals.clear()
  await advanceUntil(clock, () => calls.length === 4)
  expect(clock.now() - first).toBeGreaterThan(300_000)
  expect(calls.slice(2)).toEqual(['permitted', 'synced 3'])
  expect([known.size, failed]).toEqual([3, []])
})

test('a server without the API is one that refuses, and one that fails is tried again', async () => {
  const cluster = someCluster()
  cluster.refusals.set(POLICY_PATHS.networkpolicies, 404)
  const { calls } = await watch(cluster)
  await eventually(() => calls.length === 1)
  expect(calls).toEqual(['404 networkpolicies'])
  const broken = someCluster()
  broken.refusals.set(POLICY_PATHS.pods, 500)
  const again = await watch(broken)
  await eventually(() => again.failed.length > 1)
  expect(again.calls).toEqual([])
  broken.refusals.clear()
  await eventually(() => again.calls.length === 2)
})

test('objects that vanish while a right is missing are gone when it is there again', async () => {
  const cluster = someCluster()
  cluster.policies.pods.put(
    'shop/old',
    { nodeName: 'n1' },
    { status: { podIPs: [{ ip: '10.0.0.5' }] } },
  )
  const clock = new FakeClock()
  const { calls, known } = await watch(cluster, clock)
  await advanceUntil(clock, () => calls.length === 2)
  cluster.refusals.set(POLICY_PATHS.pods, 403)
  cluster.policies.pods.compact()
  cluster.policies.pods.disconnect(false)
  await advanceUntil(clock, () => calls.length === 3)
  expect(calls[2]).toBe('403 pods')
  expect(known.has('pod shop/old')).toBe(true)
  cluster.policies.pods.remove('shop/old')
  cluster.refusals.clear()
  await advanceUntil(clock, () => !known.has('pod shop/old'))
  expect(known.has('pod shop/web')).toBe(true)
  expect(calls.filter((call) => call.startsWith('synced'))).toEqual(['synced 4'])
})

const SPEC = { tier: 'Admin', priority: 1, subject: { namespaces: {} } }

function withClusterPolicies(): ModelCluster {
  const cluster = someCluster()
  cluster.policyVersions = ['v1alpha1', 'v1alpha2']
  cluster.clusterPolicies.put('fence', SPEC)
  return cluster
}

test('cluster policies are followed where the server has them, and synced with the rest', async () => {
  const cluster = withClusterPolicies()
  const { known, calls, watcher, problems } = await watch(cluster)
  await eventually(() => calls.length === 2)
  expect(calls).toEqual(['permitted', 'synced 4'])
  expect(known.get('clusterPolicy fence')).toMatchObject({ value: { tier: 'Admin', priority: 1 } })
  expect(watcher.state().map(({ resource }) => resource)).toContain('clusternetworkpolicies')
  cluster.clusterPolicies.put('fence', { ...SPEC, tier: 'Platform' })
  await eventually(() => problems.length > 0)
  expect(problems).toEqual(['fence spec.tier'])
  cluster.clusterPolicies.remove('fence')
  await eventually(() => !known.has('clusterPolicy fence'))
})

test('a server without cluster policies gets no request but discovery, and again after a while', async () => {
  const cluster = someCluster()
  cluster.policyVersions = ['v1alpha1']
  cluster.clusterPolicies.put('fence', SPEC)
  const clock = new FakeClock()
  const { server, known, calls, watcher, failed } = await watch(cluster, clock)
  await advanceUntil(clock, () => calls.length === 2)
  expect(calls).toEqual(['permitted', 'synced 3'])
  expect(watcher.state()).toHaveLength(3)
  const requested = () => server.arrivals.map(({ url }) => url.pathname)
  expect(requested()).not.toContain(CLUSTER_POLICIES.objects)
  const since = clock.now()
  await advanceUntil(clock, () => clock.now() > since + 20 * 60_000)
  const looked = requested().filter((path) => path === CLUSTER_POLICIES.group).length
  expect(looked).toBeGreaterThan(3)
  expect(looked).toBeLessThan(8)
  cluster.policyVersions = ['v1alpha2']
  await advanceUntil(clock, () => known.has('clusterPolicy fence'))
  expect(JSON.stringify(failed)).not.toContain('clusternetworkpolicies')
})

test('cluster policies that are forbidden are named, those that are known stay, and the rest is followed', async () => {
  const cluster = withClusterPolicies()
  const clock = new FakeClock()
  const { known, calls, failed } = await watch(cluster, clock)
  await advanceUntil(clock, () => calls.length === 2)
  cluster.refusals.set(CLUSTER_POLICIES.objects, 403)
  cluster.clusterPolicies.compact()
  cluster.clusterPolicies.disconnect(false)
  await advanceUntil(clock, () => calls.length === 3)
  expect(calls[2]).toBe('cluster policies 403')
  const since = clock.now()
  await advanceUntil(clock, () => clock.now() > since + 20 * 60_000)
  expect([known.has('clusterPolicy fence'), calls.length]).toEqual([true, 3])
  cluster.policies.networkpolicies.remove('shop/deny')
  await eventually(() => !known.has('policy shop/deny'))
  cluster.clusterPolicies.remove('fence')
  cluster.refusals.clear()
  await advanceUntil(clock, () => !known.has('clusterPolicy fence'))
  expect(calls.slice(3)).toEqual(['cluster policies undefined'])
  expect(JSON.stringify(failed)).not.toContain('"code":403')
})

test('cluster policies are gone when their API stays away for half a minute, not sooner', async () => {
  const cluster = withClusterPolicies()
  const clock = new FakeClock()
  const { known, calls } = await watch(cluster, clock)
  await advanceUntil(clock, () => calls.length === 2)
  cluster.policyVersions = []
  cluster.clusterPolicies.compact()
  cluster.clusterPolicies.disconnect(false)
  const since = clock.now()
  await advanceUntil(clock, () => !known.has('clusterPolicy fence'))
  expect(clock.now() - since).toBeGreaterThanOrEqual(30_000)
  expect(known.has('policy shop/deny')).toBe(true)
})

test('an API that is away after its policies were forbidden is no sooner gone', async () => {
  const cluster = withClusterPolicies()
  const clock = new FakeClock()
  const { known, calls } = await watch(cluster, clock)
  await advanceUntil(clock, () => calls.length === 2)
  cluster.refusals.set(CLUSTER_POLICIES.objects, 403)
  cluster.clusterPolicies.compact()
  cluster.clusterPolicies.disconnect(false)
  await advanceUntil(clock, () => calls.length === 3)
  cluster.policyVersions = []
  await advanceUntil(clock, () => calls.length === 4)
  expect(calls.slice(2)).toEqual(['cluster policies 403', 'cluster policies undefined'])
  const since = clock.now()
  await advanceUntil(clock, () => !known.has('clusterPolicy fence'))
  expect(clock.now() - since).toBeGreaterThanOrEqual(28_000)
})

test('while discovery fails, nothing is synced', async () => {
  const cluster = withClusterPolicies()
  cluster.refusals.set(CLUSTER_POLICIES.group, 503)
  const { calls, failed } = await watch(cluster)
  await eventually(() => failed.length > 2)
  expect(calls).toEqual(['permitted'])
  cluster.refusals.clear()
  await eventually(() => calls.includes('synced 4'))
})
