import { expect, test } from 'vitest'
import { type JsonObject, objectAt, valueAt } from '../../lib/json.ts'
import { ENDPOINTS, POD, PODS, SERVICES, service, startApi } from '../test-api.ts'

test('deleting answers Success, and the object is gone', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const answer = await api.call('DELETE', `${SERVICES}/web`, {
    body: { propagationPolicy: 'Background' },
  })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({
    kind: 'Status',
    status: 'Success',
    details: { name: 'web', kind: 'services', uid: valueAt(made, 'metadata', 'uid')! },
  })
  expect((await api.call('GET', `${SERVICES}/web`)).status).toBe(404)
  expect((await api.call('DELETE', `${SERVICES}/web`)).body).toMatchObject({
    reason: 'NotFound',
    message: 'services "web" not found',
    code: 404,
  })
})

test('a deleted pod is returned', async () => {
  const api = await startApi()
  const made = await api.make(PODS, { metadata: { name: 'p' }, spec: POD })
  expect((await api.call('DELETE', `${PODS}/p`)).body).toEqual(made)
})

test('preconditions on uid and version hold', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const { uid, resourceVersion } = objectAt(made, 'metadata')
  for (const preconditions of [{ uid: 'other' }, { resourceVersion: '1' }]) {
    const answer = await api.call('DELETE', `${SERVICES}/web`, { body: { preconditions } })
    expect(answer.status).toBe(409)
    expect(answer.body['message']).toContain('Precondition failed')
  }
  const preconditions = { uid: uid!, resourceVersion: resourceVersion! }
  expect((await api.call('DELETE', `${SERVICES}/web`, { body: { preconditions } })).status).toBe(
    200,
  )
})

test('an unknown propagation policy is 422 and dryRun deletes nothing', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const wrong = await api.call('DELETE', `${SERVICES}/web`, {
    body: { propagationPolicy: 'Sideways' },
  })
  expect(wrong.status).toBe(422)
  expect((await api.call('DELETE', `${SERVICES}/web`, { body: { dryRun: ['All'] } })).status).toBe(
    200,
  )
  expect((await api.call('GET', `${SERVICES}/web`)).status).toBe(200)
})

test('an object with finalizers is marked, and goes with the last of them', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web', {}, { finalizers: ['example.com/hold'] }))
  const marked = await api.call('DELETE', `${SERVICES}/web`)
  expect(valueAt(marked.body, 'metadata', 'deletionTimestamp')).toMatch(/Z$/)
  const again = await api.call('DELETE', `${SERVICES}/web`)
  expect(again.body).toEqual(marked.body)
  const metadata = objectAt(marked.body, 'metadata')
  const put = (finalizers: string[]) => {
    const body: JsonObject = { ...marked.body, metadata: { ...metadata, finalizers } }
    return api.call('PUT', `${SERVICES}/web`, { body })
  }
  expect((await put(['example.com/hold', 'example.com/new'])).status).toBe(422)
  expect((await put([])).status).toBe(200)
  expect((await api.call('GET', `${SERVICES}/web`)).status).toBe(404)
})

test('deletecollection removes what the selectors match and returns it', async () => {
  const api = await startApi()
  for (const name of ['a', 'b', 'c']) {
    await api.make(ENDPOINTS, { metadata: { name, labels: { keep: String(name === 'c') } } })
  }
  const answer = await api.call('DELETE', `${ENDPOINTS}?labelSelector=keep!%3Dtrue`)
  expect(answer.status).toBe(200)
  const names = (answer.body['items'] as JsonObject[]).map((item) =>
    valueAt(item, 'metadata', 'name'),
  )
  expect([answer.body['kind'], names]).toEqual(['EndpointsList', ['a', 'b']])
  const left = (await api.call('GET', ENDPOINTS)).body['items'] as JsonObject[]
  expect(left.map((item) => valueAt(item, 'metadata', 'name'))).toEqual(['c'])
})

test('deleting a namespace removes all that is in it and releases its addresses', async () => {
  const api = await startApi({ serviceAddressRanges: ['10.96.0.0/30'] })
  await api.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  const services = '/api/v1/namespaces/shop/services'
  await api.make(services, service('a'))
  await api.make(services, service('b'))
  expect((await api.call('POST', SERVICES, { body: service('c') })).status).toBe(422)
  expect((await api.call('DELETE', '/api/v1/namespaces/shop')).status).toBe(200)
  expect((await api.call('GET', '/api/v1/namespaces/shop')).status).toBe(404)
  expect((await api.call('GET', '/api/v1/services')).body['items']).toEqual([])
  expect((await api.call('POST', services, { body: service('a') })).status).toBe(404)
  await api.make(SERVICES, service('c'))
})

test('no object survives a race with the deletion of its namespace', async () => {
  const api = await startApi()
  for (let round = 0; round < 10; round++) {
    const path = `/api/v1/namespaces/n${round}`
    await api.make('/api/v1/namespaces', { metadata: { name: `n${round}` } })
    const creates = Array.from({ length: 10 }, (_, index) =>
      api.call('POST', `${path}/services`, { body: service(`s${index}`) }),
    )
    const gone = api.call('DELETE', path)
    const answers = await Promise.all([...creates, gone])
    for (const { status } of answers.slice(0, -1)) expect([201, 403, 404]).toContain(status)
    expect((await gone).status).toBe(200)
    expect((await api.call('GET', `${path}/services`)).body['items']).toEqual([])
  }
})

test('a create that was decided before its namespace was deleted is refused', async () => {
  let interlude: (() => Promise<unknown>) | undefined
  const api = await startApi({
    wrap: (store) => ({
      ...store,
      txn: async (transaction) => {
        const isCreate = transaction.operations.some((one) => one.key === '/services/shop/late')
        const run = isCreate ? interlude : undefined
        if (run !== undefined) interlude = undefined
        await run?.()
        return store.txn(transaction)
      },
    }),
  })
  await api.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  interlude = () => api.call('DELETE', '/api/v1/namespaces/shop')
  const late = await api.call('POST', '/api/v1/namespaces/shop/services', { body: service('late') })
  expect([interlude, late.status, late.body['message']]).toEqual([
    undefined,
    404,
    'namespaces "shop" not found',
  ])
  expect((await api.call('GET', '/api/v1/services')).body['items']).toEqual([])
})

test('the default namespace stays', async () => {
  const api = await startApi()
  const answer = await api.call('DELETE', '/api/v1/namespaces/default')
  expect(answer.status).toBe(403)
  expect(answer.body).toMatchObject({
    reason: 'Forbidden',
    message: 'namespaces "default" is forbidden: this namespace may not be deleted',
  })
})
