import { beforeEach, expect, test } from 'vitest'
import { type SecuredApi, startSecuredApi } from '../apiserver/testing/secured-api.ts'
import { ENDPOINTS, POD, PODS, SERVICES, SLICES, service } from '../apiserver/testing/test-api.ts'
import { isDeepEqual } from '../lib/equal.ts'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../lib/json.ts'
import { controlPlaneAccounts, startControlPlane } from './testing/control-plane.ts'
import { expectGone, expectSoon } from './testing/expect-soon.ts'
import { endpoints, sliced } from './testing/shown-endpoints.ts'
import { makePod, setPod } from './testing/web-pods.ts'

const NAMESPACES = '/api/v1/namespaces'
const NODES = '/api/v1/nodes'
const CONFIG_MAPS = `${NAMESPACES}/default/configmaps`
const SECRETS = `${NAMESPACES}/default/secrets`
const EVENTS = `${NAMESPACES}/default/events`
const POLICIES = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies'
const WEB = { selector: { app: 'web' } }

let api: SecuredApi

beforeEach(async () => {
  api = await startSecuredApi(controlPlaneAccounts)
  startControlPlane(api.socketPath)
})

test('dependents of any kind are deleted with their owner', async () => {
  const { metadata } = await api.make(CONFIG_MAPS, { metadata: { name: 'owner' } })
  const uid = stringAt(metadata, 'uid')
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  await api.make(PODS, { metadata: { name: 'owned', ownerReferences }, spec: POD })
  const ghost = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'ghost' }]
  await api.make(SECRETS, { metadata: { name: 'ghostly', ownerReferences: ghost } })
  await expectGone(api, `${SECRETS}/ghostly`)
  expect((await api.call('GET', `${PODS}/owned`)).status).toBe(200)
  await api.call('DELETE', `${CONFIG_MAPS}/owner`)
  await expectGone(api, `${PODS}/owned`)
})

const BLOCKING = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', blockOwnerDeletion: true }

/** A ConfigMap `owner` and a Pod at work that it owns. */
async function makeFamily(): Promise<void> {
  await api.make(NODES, { metadata: { name: 'node-a' } })
  const { metadata } = await api.make(CONFIG_MAPS, { metadata: { name: 'owner' } })
  const ownerReferences = [{ ...BLOCKING, uid: stringAt(metadata, 'uid') }]
  const spec = { ...POD, nodeName: 'node-a' }
  await api.make(PODS, { metadata: { name: 'owned', ownerReferences }, spec })
}

test('a foreground deletion waits for the last dependent', async () => {
  await makeFamily()
  const { body } = await api.call('DELETE', `${CONFIG_MAPS}/owner?propagationPolicy=Foreground`)
  expect(arrayAt(body, 'metadata', 'finalizers')).toEqual(['foregroundDeletion'])
  await expectSoon(api, PODS, ([pod]) => stringAt(pod, 'metadata', 'deletionTimestamp') !== '')
  expect((await api.call('GET', `${CONFIG_MAPS}/owner`)).status).toBe(200)
  await api.call('DELETE', `${PODS}/owned?gracePeriodSeconds=0`)
  await expectGone(api, `${CONFIG_MAPS}/owner`)
})

test('orphaned dependents stay and lose the reference to their owner', async () => {
  await makeFamily()
  await api.call('DELETE', `${CONFIG_MAPS}/owner?propagationPolicy=Orphan`)
  await expectGone(api, `${CONFIG_MAPS}/owner`)
  const pod = (await api.call('GET', `${PODS}/owned`)).body
  expect(arrayAt(pod, 'metadata', 'ownerReferences')).toEqual([])
  expect(stringAt(pod, 'metadata', 'deletionTimestamp')).toBe('')
})

test('a terminating Pod is serving in its slice, and no longer in Endpoints', async () => {
  await api.make(NODES, { metadata: { name: 'node-a' } })
  await makePod(api, 1, { spec: { nodeName: 'node-a' } })
  await api.make(SERVICES, service('web', WEB))
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1'))
  await api.call('DELETE', `${PODS}/web-1`)
  const conditions = (wanted: JsonObject) => (items: readonly JsonObject[]) =>
    isDeepEqual(valueAt(arrayAt(items[0], 'endpoints')[0], 'conditions'), wanted)
  await expectSoon(api, SLICES, conditions({ ready: false, serving: true, terminating: true }))
  await expectSoon(api, ENDPOINTS, endpoints(''))
  await setPod(api, 1, false)
  await expectSoon(api, SLICES, conditions({ ready: false, serving: false, terminating: true }))
  await api.call('DELETE', `${PODS}/web-1?gracePeriodSeconds=0`)
  await expectSoon(api, SLICES, sliced())
})

test('a namespace is deleted with all its contents, Pods first', async () => {
  await api.make(NODES, { metadata: { name: 'node-a' } })
  await api.make(NAMESPACES, { metadata: { name: 'shop' } })
  const inShop = (path: string): string => path.replace('/default/', '/shop/')
  const metadata = { name: 'web-1', labels: { app: 'web' } }
  await api.make(inShop(PODS), { metadata, spec: { ...POD, nodeName: 'node-a' } })
  await api.make(inShop(POLICIES), { metadata: { name: 'deny' }, spec: {} })
  await api.make(inShop(SERVICES), service('web', WEB))
  await expectSoon(api, inShop(SLICES), ([slice]) => slice !== undefined)
  await api.call('DELETE', `${NAMESPACES}/shop`)
  await expectSoon(api, NAMESPACES, (items) =>
    items.some((one) =>
      arrayAt(one, 'status', 'conditions').some((condition) =>
        stringAt(condition, 'message').includes('pods. has 1 resource instances'),
      ),
    ),
  )
  expect((await api.call('GET', `${inShop(POLICIES)}/deny`)).status).toBe(200)
  await api.call('DELETE', `${inShop(PODS)}/web-1?gracePeriodSeconds=0`)
  await expectGone(api, `${NAMESPACES}/shop`)
  for (const path of [SERVICES, SLICES, EVENTS]) {
    expect((await api.call('GET', inShop(path))).body['items']).toEqual([])
  }
})
