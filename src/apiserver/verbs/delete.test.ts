import { expect, test } from 'vitest'
import { type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { ENDPOINTS, POD, PODS, SERVICES, service, startApi } from '../testing/test-api.ts'

test('deleting answers Success, and the object is gone', async () => {
  const api = await startApi()
  const made = await api.make(ENDPOINTS, { metadata: { name: 'web' } })
  const answer = await api.call('DELETE', `${ENDPOINTS}/web`, {
    body: { propagationPolicy: 'Background' },
  })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({
    kind: 'Status',
    status: 'Success',
    details: { name: 'web', kind: 'endpoints', uid: valueAt(made, 'metadata', 'uid')! },
  })
  expect((await api.call('GET', `${ENDPOINTS}/web`)).status).toBe(404)
  expect((await api.call('DELETE', `${ENDPOINTS}/web`)).body).toMatchObject({
    reason: 'NotFound',
    message: 'endpoints "web" not found',
    code: 404,
  })
})

test.each([SERVICES, '/api/v1/namespaces/default/serviceaccounts'])(
  'what is deleted of %s is returned as it was',
  async (path) => {
    const api = await startApi()
    const made = await api.make(path, service('web'))
    const { status, body } = await api.call('DELETE', `${path}/web`)
    expect([status, body]).toEqual([200, made])
    expect((await api.call('GET', `${path}/web`)).status).toBe(404)
  },
)

test('a pod that runs nowhere goes at once, and is returned', async () => {
  const api = await startApi()
  const made = await api.make(PODS, { metadata: { name: 'p' }, spec: POD })
  const { body } = await api.call('DELETE', `${PODS}/p`)
  expect(body).toMatchObject({ spec: made['spec']!, metadata: { deletionGracePeriodSeconds: 0 } })
  expect((await api.call('GET', `${PODS}/p`)).status).toBe(404)
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

test.each([{ uid: 7 }, { resourceVersion: 7 }, 'u'])(
  'preconditions that cannot be read delete nothing: %j',
  async (preconditions) => {
    const api = await startApi()
    await api.make(ENDPOINTS, { metadata: { name: 'a' } })
    const answer = await api.call('DELETE', `${ENDPOINTS}/a`, { body: { preconditions } })
    expect(answer.status).toBe(400)
    expect((await api.call('GET', `${ENDPOINTS}/a`)).status).toBe(200)
  },
)

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

test('deletecollection with a limit removes a page, and says where the next one begins', async () => {
  const api = await startApi()
  for (const name of ['a', 'b', 'c', 'd', 'e']) await api.make(ENDPOINTS, { metadata: { name } })
  const namesOf = ({ body }: { readonly body: JsonObject }) =>
    (body['items'] as JsonObject[]).map((item) => stringAt(item, 'metadata', 'name'))
  const pages: string[][] = []
  let next = ''
  do {
    const page = await api.call('DELETE', `${ENDPOINTS}?limit=2&continue=${next}`)
    expect(page.status).toBe(200)
    pages.push(namesOf(page))
    next = stringAt(page.body, 'metadata', 'continue')
    const left = namesOf(await api.call('GET', ENDPOINTS))
    expect(left).toEqual(['a', 'b', 'c', 'd', 'e'].slice(pages.flat().length))
  } while (next !== '' && pages.length < 9)
  expect(pages).toEqual([['a', 'b'], ['c', 'd'], ['e']])
  const wrong = await api.call('DELETE', `${ENDPOINTS}?continue=x`)
  expect(wrong.status).toBe(400)
})

const BOUND = { ...POD, nodeName: 'node-a' }
const MERGE = { 'content-type': 'application/merge-patch+json' }

test('a pod at work is marked, may still be written, and goes when its node says so', async () => {
  const api = await startApi()
  await api.make(PODS, { metadata: { name: 'p' }, spec: BOUND })
  const watch = await api.watch(`${PODS}?watch=true`)
  const { body } = await api.call('DELETE', `${PODS}/p?gracePeriodSeconds=20`)
  expect(body).toMatchObject({ kind: 'Pod', metadata: { deletionGracePeriodSeconds: 20 } })
  expect((await api.call('DELETE', `${PODS}/p`)).body).toEqual(body)
  const written = await Promise.all([
    api.call('PATCH', `${PODS}/p`, { headers: MERGE, body: { metadata: { labels: { a: 'b' } } } }),
    api.call('PATCH', `${PODS}/p/status`, {
      headers: MERGE,
      body: { status: { phase: 'Failed' } },
    }),
  ])
  expect(written.map(({ status }) => status)).toEqual([200, 200])
  const hurry = { gracePeriodSeconds: 0 }
  const last = await api.call('DELETE', `${PODS}/p`, { body: hurry })
  expect(valueAt(last.body, 'metadata', 'deletionGracePeriodSeconds')).toBe(0)
  const events = await watch.take(5)
  expect(events.map(({ type }) => type)).toEqual([
    'ADDED',
    ...Array<string>(3).fill('MODIFIED'),
    'DELETED',
  ])
})

test('without its last finalizer a pod goes, but not before its grace is over', async () => {
  const api = await startApi()
  for (const name of ['a', 'b']) {
    await api.make(PODS, { metadata: { name, finalizers: ['example.com/x'] }, spec: BOUND })
    await api.call('DELETE', `${PODS}/${name}`)
  }
  await api.call('DELETE', `${PODS}/b?gracePeriodSeconds=0`)
  const body = { metadata: { finalizers: null } }
  const freed = await Promise.all(
    ['a', 'b'].map((name) => api.call('PATCH', `${PODS}/${name}`, { body, headers: MERGE })),
  )
  expect(freed.map(({ status }) => status)).toEqual([200, 200])
  expect(valueAt(freed[1]?.body, 'metadata', 'finalizers')).toBeUndefined()
  const left = (await api.call('GET', PODS)).body['items'] as JsonObject[]
  expect(left.map((item) => valueAt(item, 'metadata', 'name'))).toEqual(['a'])
})

const options: readonly (readonly [string, JsonObject | undefined, string[] | number])[] = [
  ['?propagationPolicy=Foreground', undefined, ['foregroundDeletion']],
  ['?propagationPolicy=Foreground', { propagationPolicy: 'Orphan' }, ['orphan']],
  ['?orphanDependents=true', undefined, ['orphan']],
  ['', { orphanDependents: true }, ['orphan']],
  ['', { orphanDependents: false, dryRun: ['All'] }, 200],
  ['', { orphanDependents: true, propagationPolicy: 'Orphan' }, 422],
  ['', { orphanDependents: 'perhaps' }, 400],
  ['?propagationPolicy=sideways', undefined, 422],
  ['?gracePeriodSeconds=soon', undefined, 400],
  ['?gracePeriodSeconds=%20', undefined, 400],
  ['?gracePeriodSeconds=0x10', undefined, 400],
  ['', { gracePeriodSeconds: 1.5 }, 400],
  ['', { gracePeriodSeconds: -1 }, 200],
]

test.each(options)('DELETE%s with %j', async (query, body, wanted) => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const given = body === undefined ? {} : { body }
  const answer = await api.call('DELETE', `${SERVICES}/web${query}`, given)
  if (typeof wanted === 'number') expect(answer.status).toBe(wanted)
  else expect(valueAt(answer.body, 'metadata', 'finalizers')).toEqual(wanted)
})

test('an object cannot both leave its dependents and wait for them', async () => {
  const api = await startApi()
  const finalizers = ['orphan', 'foregroundDeletion']
  const { status } = await api.call('POST', SERVICES, { body: service('web', {}, { finalizers }) })
  expect(status).toBe(422)
})
