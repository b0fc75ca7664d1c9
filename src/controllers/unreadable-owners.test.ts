import { expect, test } from 'vitest'
import { startSecuredApi } from '../apiserver/testing/secured-api.ts'
import {
  ENDPOINTS,
  POD,
  PODS,
  SERVICES,
  SLICES,
  service,
  type TestApi,
} from '../apiserver/testing/test-api.ts'
import { arrayAt, stringAt, valueAt } from '../lib/json.ts'
import { controlPlaneAccounts, startControlPlane } from './testing/control-plane.ts'
import { expectGone, expectSoon } from './testing/expect-soon.ts'

/** The server cannot report them as gone. */
const REFUSED = /^problem \w+ NP_CONTROLLERS_WRITE$/

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

/** As another program, or the disk, leaves it. */
async function damage(api: TestApi, key: string): Promise<void> {
  const value = Buffer.from('no object')
  await api.store.txn({ compare: [], operations: [{ op: 'put', key, value }] })
}

async function sliceNames(api: TestApi): Promise<readonly string[]> {
  const { body } = await api.call('GET', SLICES)
  return arrayAt(body, 'items').map((item) => stringAt(item, 'metadata', 'name'))
}

test('Endpoints, slices and dependents of an unreadable object stay until it is deleted', async () => {
  const api = await startSecuredApi(controlPlaneAccounts, { onError: () => undefined })
  const records = startControlPlane(api.socketPath, { expected: REFUSED })
  await api.make(SERVICES, service('web', { selector: { app: 'web' } }))
  const owner = await api.make(CONFIG_MAPS, { metadata: { name: 'owner' } })
  const uid = stringAt(owner, 'metadata', 'uid')
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  await api.make(PODS, { metadata: { name: 'owned', ownerReferences }, spec: POD })
  await expectSoon(api, ENDPOINTS, (items) => items.length === 1)
  await expectSoon(api, SLICES, (items) => items.length === 1)
  const before = await sliceNames(api)
  await damage(api, '/services/default/web')
  await damage(api, '/configmaps/default/owner')
  // Another Service shows that the controllers have seen what came before it.
  await api.make(SERVICES, service('later', { selector: { app: 'later' } }))
  await expectSoon(api, ENDPOINTS, (items) =>
    items.some((item) => valueAt(item, 'metadata', 'name') === 'later'),
  )
  await expectSoon(api, SLICES, (items) => items.length === 2)
  await expect
    .poll(() => records.filter((one) => REFUSED.test(one)).map((one) => one.split(' ')[1]))
    .toEqual(expect.arrayContaining(['endpoints', 'endpointslices', 'garbagecollector']))
  expect(await sliceNames(api)).toEqual(expect.arrayContaining([...before]))
  expect((await api.call('GET', `${ENDPOINTS}/web`)).status).toBe(200)
  expect((await api.call('GET', `${PODS}/owned`)).status).toBe(200)
  await api.call('DELETE', `${SERVICES}/web`)
  await api.call('DELETE', `${CONFIG_MAPS}/owner`)
  await expectGone(api, `${ENDPOINTS}/web`)
  await expectGone(api, `${SLICES}/${before[0]}`)
  await expectGone(api, `${PODS}/owned`)
})

test('a namespace is deleted over an object that cannot be read', async () => {
  const api = await startSecuredApi(controlPlaneAccounts, { onError: () => undefined })
  startControlPlane(api.socketPath)
  await api.make('/api/v1/namespaces', { metadata: { name: 'a' } })
  await api.make('/api/v1/namespaces/a/configmaps', { metadata: { name: 'good' } })
  await damage(api, '/secrets/a/lost')
  await api.call('DELETE', '/api/v1/namespaces/a')
  await expectGone(api, '/api/v1/namespaces/a')
  expect(await api.store.get('/secrets/a/lost')).toBeUndefined()
})
