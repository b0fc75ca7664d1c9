import { beforeEach, expect, test } from 'vitest'
import { type SecuredApi, startSecuredApi } from '../apiserver/testing/secured-api.ts'
import { ENDPOINTS, POD, PODS, SERVICES, SLICES, service } from '../apiserver/testing/test-api.ts'
import { eventually } from '../client/testing/eventually.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../lib/json.ts'
import { controlPlaneAccounts, startControlPlane } from './testing/control-plane.ts'
import { expectGone, expectSoon } from './testing/expect-soon.ts'
import { readyCondition } from './testing/fixtures.ts'
import { endpoints, sliced } from './testing/shown-endpoints.ts'
import { makePod, setPod } from './testing/web-pods.ts'

let api: SecuredApi
let records: readonly string[]

beforeEach(async () => {
  api = await startSecuredApi(controlPlaneAccounts)
  records = startControlPlane(api.socketPath)
})

const WEB = { selector: { app: 'web' } }

test('endpoints follow Pods that become ready, not ready and deleted', async () => {
  await makePod(api, 1)
  await makePod(api, 2, { ready: false })
  await api.make(SERVICES, service('web', WEB))
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1', '10.1.0.2'))
  await expectSoon(api, SLICES, sliced('10.1.0.1', '10.1.0.2'))
  await setPod(api, 2, true)
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1,10.1.0.2'))
  await api.call('DELETE', `${PODS}/web-1`)
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.2'))
  await expectSoon(api, SLICES, sliced('10.1.0.2'))
  await api.call('DELETE', `${SERVICES}/web`)
  await expectSoon(api, SLICES, (items) => items.length === 0)
  await expectSoon(api, ENDPOINTS, (items) =>
    items.every((one) => stringAt(one, 'metadata', 'name') !== 'web'),
  )
})

test('the server stores what was written, so that no write is repeated', async () => {
  await makePod(api, 1)
  const ports = [{ port: 80, targetPort: 8080, appProtocol: 'http' }]
  await api.make(SERVICES, service('web', { ...WEB, ports }, { labels: { team: 'a' } }))
  await api.make(SERVICES, service('empty', { selector: { app: 'none' } }))
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1'))
  await expectSoon(api, SLICES, (items) => items.length === 2)
  await api.make(SERVICES, service('last', WEB))
  await expectSoon(api, SLICES, (items) => items.length === 3)
  await expectSoon(api, ENDPOINTS, (items) => items.length === 3)
  const aboutEndpoints = () => records.filter((one) => one.startsWith('wrote endpoint'))
  await eventually(() => aboutEndpoints().length >= 6)
  expect(aboutEndpoints().toSorted()).toEqual([
    ...Array<string>(3).fill('wrote endpoints create done'),
    ...Array<string>(3).fill('wrote endpointslices create done'),
  ])
})

test('changes by other clients to Endpoints are reverted', async () => {
  await makePod(api, 1)
  await api.make(SERVICES, service('web', WEB))
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1'))
  const headers = { 'content-type': 'application/merge-patch+json' }
  const subsets = [{ addresses: [{ ip: '203.0.113.66' }], ports: [{ port: 1 }] }]
  const { status } = await api.call('PATCH', `${ENDPOINTS}/web`, { body: { subsets }, headers })
  expect(status).toBe(200)
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1'))
})

test('hand-written Endpoints are mirrored while they and their Service exist', async () => {
  await api.make(ENDPOINTS, {
    metadata: { name: 'hand' },
    subsets: [{ addresses: [{ ip: '192.0.2.7' }], ports: [{ port: 80 }] }],
  })
  await api.make(SERVICES, service('hand'))
  await expectSoon(api, SLICES, sliced('192.0.2.7'))
  await api.call('DELETE', `${ENDPOINTS}/hand`)
  await expectSoon(api, SLICES, (items) => items.length === 0)
})

const EVENTS = '/api/v1/namespaces/default/events'

test('Services of type LoadBalancer get an address, as long as there are any', async () => {
  await api.make(SERVICES, service('a', { type: 'LoadBalancer' }))
  const holds = (name: string) => (items: readonly JsonObject[]) =>
    items.some(
      (one) =>
        stringAt(one, 'metadata', 'name') === name &&
        stringAt(arrayAt(one, 'status', 'loadBalancer', 'ingress')[0], 'ip') === '192.0.2.1',
    )
  await expectSoon(api, SERVICES, holds('a'))
  await api.make(SERVICES, service('b', { type: 'LoadBalancer' }))
  await expectSoon(api, EVENTS, (items) => items.some((one) => stringAt(one, 'type') === 'Warning'))
  const headers = { 'content-type': 'application/merge-patch+json' }
  await api.call('PATCH', `${SERVICES}/a`, { body: { spec: { type: 'ClusterIP' } }, headers })
  await expectSoon(api, SERVICES, holds('b'))
})

const NODES = '/api/v1/nodes'
const MERGE = { 'content-type': 'application/merge-patch+json' }

/** The only Node, when its taints are these: `not-ready:NoSchedule`. */
async function expectTaints(...wanted: readonly string[]): Promise<void> {
  await expectSoon(api, NODES, ([node]) => {
    const taints = arrayAt(node, 'spec', 'taints').map(
      (one) => `${stringAt(one, 'key').replace(/^.*\//, '')}:${stringAt(one, 'effect')}`,
    )
    return taints.join() === wanted.join()
  })
}

test('a Node has the taints of its state; Pods that do not tolerate one with NoExecute are deleted', async () => {
  await api.make(NODES, { metadata: { name: 'node-a' } })
  const report = (ready: boolean) =>
    api.call('PATCH', `${NODES}/node-a/status`, {
      body: { status: { conditions: [readyCondition(ready)] } },
      headers: MERGE,
    })
  await report(false)
  await expectTaints('not-ready:NoSchedule')
  await report(true)
  await expectTaints()
  const spec = { ...POD, nodeName: 'node-a', terminationGracePeriodSeconds: 0 }
  const tolerations = [{ key: 'repair', operator: 'Exists' }]
  await api.make(PODS, { metadata: { name: 'stays' }, spec: { ...spec, tolerations } })
  await api.make(PODS, { metadata: { name: 'leaves' }, spec })
  const taints = [{ key: 'repair', effect: 'NoExecute' }]
  await api.call('PATCH', `${NODES}/node-a`, { body: { spec: { taints } }, headers: MERGE })
  await expectGone(api, `${PODS}/leaves`)
  await expectSoon(
    api,
    NODES,
    ([node]) => stringAt(arrayAt(node, 'spec', 'taints')[0], 'timeAdded') !== '',
  )
  expect((await api.call('GET', `${PODS}/stays`)).status).toBe(200)
})

test('a budget is of the Pods that a ReplicaSet should have', async () => {
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
  const selector = { matchLabels: { app: 'web' } }
  await api.make(budgets, {
    metadata: { name: 'web' },
    spec: { selector, maxUnavailable: '34%' },
  })
  const template = { metadata: { labels: { app: 'web' } }, spec: POD }
  await api.make('/apis/apps/v1/namespaces/default/replicasets', {
    metadata: { name: 'web' },
    spec: { replicas: 3, selector, template },
  })
  await expectSoon(
    api,
    budgets,
    ([budget]) =>
      valueAt(budget, 'status', 'expectedPods') === 3 &&
      valueAt(budget, 'status', 'desiredHealthy') === 1,
  )
})
