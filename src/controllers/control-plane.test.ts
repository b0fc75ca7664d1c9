import { beforeEach, expect, test } from 'vitest'
import { type SecuredApi, startSecuredApi } from '../apiserver/testing/secured-api.ts'
import { ENDPOINTS, PODS, SERVICES, SLICES, service } from '../apiserver/testing/test-api.ts'
import { eventually } from '../client/testing/eventually.ts'
import { arrayAt, type JsonObject, stringAt } from '../lib/json.ts'
import { controlPlaneAccounts, startControlPlane } from './testing/control-plane.ts'
import { expectSoon } from './testing/expect-soon.ts'
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
