import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'

const NAMESPACES = '/api/v1/namespaces'
const SHOP = `${NAMESPACES}/shop`
const IN_SHOP = `${SHOP}/services`

async function withShop(): Promise<TestApi> {
  const api = await startApi()
  await api.make(NAMESPACES, { metadata: { name: 'shop' } })
  return api
}

function withFinalizers(namespace: JsonObject, finalizers: string[]): JsonObject {
  return { ...namespace, spec: { finalizers } }
}

test('a namespace in which nothing is goes at once, with the events about it', async () => {
  const api = await withShop()
  const involvedObject = { kind: 'Service', namespace: 'shop', name: 'web' }
  await api.make(`${SHOP}/events`, { metadata: { name: 'e' }, involvedObject, reason: 'Gone' })
  const { status, body } = await api.call('DELETE', SHOP)
  expect([status, body['status']]).toEqual([200, 'Success'])
  expect((await api.call('GET', SHOP)).status).toBe(404)
  expect((await api.call('GET', '/api/v1/events')).body['items']).toEqual([])
})

test('namespaces are deleted one by one, and discovery says so', async () => {
  const api = await startApi()
  expect((await api.call('DELETE', NAMESPACES)).status).toBe(405)
  const discovered = arrayAt((await api.call('GET', '/api/v1')).body, 'resources')
  const one = discovered.find((resource) => stringAt(resource, 'name') === 'namespaces')
  expect(arrayAt(one, 'verbs')).not.toContain('deletecollection')
  const { body } = await api.call('GET', '/openapi/v3/api/v1')
  expect(Object.keys(objectAt(body, 'paths', NAMESPACES))).toEqual(['get', 'post'])
})

test('a namespace with objects closes, and the namespace controller empties it', async () => {
  const api = await withShop()
  await api.make(IN_SHOP, service('a'))
  const { body } = await api.call('DELETE', SHOP)
  expect(body).toMatchObject({
    kind: 'Namespace',
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Terminating' },
  })
  expect(stringAt(body, 'metadata', 'deletionTimestamp')).toMatch(/Z$/)
  const refused = await api.call('POST', IN_SHOP, { body: service('b') })
  expect([refused.status, valueAt(refused.body, 'details', 'causes')]).toMatchObject([
    403,
    [{ reason: 'NamespaceTerminating' }],
  ])
  expect((await api.call('DELETE', SHOP)).body).toEqual(body)
  await api.call('DELETE', `${IN_SHOP}/a`)
  expect((await api.call('DELETE', SHOP)).body['status']).toBe('Success')
})

test('it is finalized when it is empty, and not before', async () => {
  const api = await withShop()
  await api.make(IN_SHOP, service('a'))
  const { body } = await api.call('DELETE', SHOP)
  const finalize = () => api.call('PUT', `${SHOP}/finalize`, { body: withFinalizers(body, []) })
  const early = await finalize()
  expect([early.status, early.body['message']]).toEqual([
    409,
    'Operation cannot be fulfilled on namespaces "shop": there are still services in it',
  ])
  await api.call('DELETE', `${IN_SHOP}/a`)
  expect((await finalize()).status).toBe(200)
  expect((await api.call('GET', SHOP)).status).toBe(404)
})

test('foreign finalizers keep an empty namespace', async () => {
  const api = await withShop()
  const headers = { 'content-type': 'application/merge-patch+json' }
  const put = (path: string, body: JsonObject) => api.call('PATCH', path, { body, headers })
  const spec = { finalizers: ['kubernetes', 'example.com/spec'] }
  const kept = (await put(`${SHOP}/finalize`, { spec })).body
  expect(arrayAt(kept, 'metadata', 'managedFields').at(-1)).toMatchObject({
    subresource: 'finalize',
    fieldsV1: { 'f:spec': { 'f:finalizers': {} } },
  })
  await put(SHOP, { metadata: { finalizers: ['example.com/metadata'] } })
  expect((await api.call('DELETE', SHOP)).body['kind']).toBe('Namespace')
  await put(`${SHOP}/finalize`, { spec: { finalizers: [] } })
  expect((await api.call('GET', SHOP)).status).toBe(200)
  await put(SHOP, { metadata: { finalizers: [] } })
  expect((await api.call('GET', SHOP)).status).toBe(404)
})

test('only the finalize subresource changes finalizers, and only a deletion the phase', async () => {
  const api = await withShop()
  const { body } = await api.call('PUT', SHOP, {
    body: { ...withFinalizers({}, []), metadata: { name: 'shop', labels: { a: 'b' } } },
  })
  expect(body).toMatchObject({
    metadata: { labels: { a: 'b' } },
    spec: { finalizers: ['kubernetes'] },
  })
  const status = { phase: 'Terminating', conditions: [] }
  const wished = await api.call('PUT', `${SHOP}/status`, { body: { ...body, status } })
  expect(wished.body['status']).toEqual({ phase: 'Active', conditions: [] })
  await api.make(IN_SHOP, service('a'))
})

test('a namespace that was finalized while it lived is still emptied', async () => {
  const api = await withShop()
  await api.make(IN_SHOP, service('a'))
  await api.call('PUT', `${SHOP}/finalize`, {
    body: withFinalizers({ metadata: { name: 'shop' } }, []),
  })
  const { body } = await api.call('DELETE', SHOP)
  expect(body).toMatchObject({ spec: { finalizers: ['kubernetes'] } })
})

test('a dry run closes nothing', async () => {
  const api = await withShop()
  const { body } = await api.call('DELETE', `${SHOP}?dryRun=All`)
  expect(body).toMatchObject({ status: { phase: 'Terminating' } })
  await api.make(IN_SHOP, service('a'))
})

test('preconditions hold for the namespace as it was', async () => {
  const api = await withShop()
  const remove = (preconditions: JsonObject) =>
    api.call('DELETE', SHOP, { body: { preconditions } })
  expect((await remove({ uid: 'other' })).status).toBe(409)
  const { resourceVersion } = (await api.call('GET', SHOP)).body['metadata'] as JsonObject
  expect((await remove({ resourceVersion: resourceVersion! })).body['status']).toBe('Success')
})

test('nothing is made in a namespace behind its deletion', async () => {
  const api = await startApi()
  for (let round = 0; round < 10; round++) {
    const path = `${NAMESPACES}/n${round}`
    await api.make(NAMESPACES, { metadata: { name: `n${round}` } })
    const creates = Array.from({ length: 10 }, (_, index) =>
      api.call('POST', `${path}/services`, { body: service(`s${index}`) }),
    )
    const gone = api.call('DELETE', path)
    const answers = await Promise.all(creates)
    for (const { status } of answers) expect([201, 403, 404]).toContain(status)
    const isGone = (await gone).body['status'] === 'Success'
    const made = answers.filter(({ status }) => status === 201)
    expect((await api.call('GET', `${path}/services`)).body['items']).toHaveLength(made.length)
    expect(isGone).toBe(made.length === 0)
    expect((await api.call('GET', path)).status).toBe(isGone ? 404 : 200)
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
  await api.make(NAMESPACES, { metadata: { name: 'shop' } })
  interlude = () => api.call('DELETE', SHOP)
  const late = await api.call('POST', IN_SHOP, { body: service('late') })
  expect([interlude, late.status, late.body['message']]).toEqual([
    undefined,
    404,
    'namespaces "shop" not found',
  ])
  expect((await api.call('GET', '/api/v1/services')).body['items']).toEqual([])
})

test('a dry run takes nothing out of a namespace', async () => {
  const api = await startApi()
  await api.make(NAMESPACES, { metadata: { name: 'shop', finalizers: ['example.com/x'] } })
  await api.make(`${SHOP}/events`, { metadata: { name: 'e' }, involvedObject: {} })
  await api.call('DELETE', SHOP)
  const body = { metadata: { name: 'shop' }, spec: { finalizers: [] } }
  const finalize = (query: string) => api.call('PUT', `${SHOP}/finalize${query}`, { body })
  const events = async () => (await api.call('GET', `${SHOP}/events`)).body['items']
  expect((await finalize('?dryRun=All')).status).toBe(200)
  expect(await events()).toHaveLength(1)
  await finalize('')
  const headers = { 'content-type': 'application/merge-patch+json' }
  await api.call('PATCH', SHOP, { headers, body: { metadata: { finalizers: null } } })
  expect([(await api.call('GET', SHOP)).status, await events()]).toEqual([404, []])
})

test('the namespaces of the system are there, and stay', async () => {
  const api = await startApi()
  for (const name of ['default', 'orch-system']) {
    const answer = await api.call('DELETE', `${NAMESPACES}/${name}`)
    expect([answer.status, answer.body['message']]).toEqual([
      403,
      `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    ])
  }
  await api.make(SERVICES, service('a'))
})

test('discovery knows how a namespace is finalized', async () => {
  const api = await startApi()
  const resources = (await api.call('GET', '/api/v1')).body['resources'] as JsonObject[]
  const [finalize] = resources.filter(({ name }) => name === 'namespaces/finalize')
  expect(finalize).toMatchObject({ kind: 'Namespace', verbs: ['patch', 'update'] })
})
