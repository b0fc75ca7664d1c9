import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { lateCaches } from '../testing/late-caches.ts'
import { SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'

const WEB = `${SERVICES}/web`

function label(api: TestApi, labels: JsonObject, path = WEB) {
  const headers = { 'content-type': 'application/merge-patch+json' }
  return api.call('PATCH', path, { headers, body: { metadata: { labels } } })
}

/** A server whose caches show `web` with the label `a: 1`, when the newest is `a: 2`. */
async function behind() {
  const caches = lateCaches()
  const api = await startApi({ wrap: caches.wrap })
  await api.make(SERVICES, service('web', {}, { labels: { a: '1' } }))
  expect((await api.call('GET', WEB)).status).toBe(200)
  caches.hold()
  const newest = await label(api, { a: '2' })
  expect(newest.status).toBe(200)
  const [stale] = arrayAt((await api.call('GET', `${SERVICES}?resourceVersion=0`)).body, 'items')
  expect(valueAt(stale, 'metadata', 'labels')).toEqual({ a: '1' })
  return { api, caches, newest: newest.body, stale: stale as JsonObject }
}

/** What comes of a call that the caches are too late for. */
async function meanwhile<T>(
  { api, caches }: Awaited<ReturnType<typeof behind>>,
  call: Promise<T>,
): Promise<T> {
  for (let trips = 0; trips < 20; trips++) await api.call('GET', '/livez')
  caches.release()
  return call
}

const labelsOf = (object: JsonObject) => valueAt(object, 'metadata', 'labels')

test('a write that finds the newest in the cache reads nothing else from the store', async () => {
  let questions = 0
  const counted = <T>(answer: T): T => {
    questions++
    return answer
  }
  const api = await startApi({
    wrap: (store) => ({
      ...store,
      revision: () => counted(store.revision()),
      get: (key) => counted(store.get(key)),
    }),
  })
  const made = await api.make('/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' } })
  const path = '/api/v1/namespaces/default/configmaps/c'
  expect((await api.call('GET', path)).body['metadata']).toEqual(made['metadata'])
  questions = 0
  expect((await label(api, { a: '1' }, path)).status).toBe(200)
  expect(questions).toBe(0)
  expect((await api.call('GET', path)).status).toBe(200)
  questions = 0
  expect((await api.call('DELETE', path)).status).toBe(200)
  expect(questions).toBe(0)
})

test('a change that was decided on what is gone is decided again', async () => {
  const stage = await behind()
  const { status, body } = await meanwhile(stage, label(stage.api, { b: '1' }))
  expect([status, labelsOf(body)]).toEqual([200, { a: '2', b: '1' }])
})

test('what would change nothing there changes the newest', async () => {
  const stage = await behind()
  const { status, body } = await meanwhile(stage, label(stage.api, { a: '1' }))
  expect([status, labelsOf(body)]).toEqual([200, { a: '1' }])
  const version = (object: JsonObject) => Number(stringAt(object, 'metadata', 'resourceVersion'))
  expect(version(body)).toBeGreaterThan(version(stage.newest))
})

test('what would be refused there is done to the newest', async () => {
  const stage = await behind()
  const updated = stage.api.call('PUT', WEB, { body: stage.newest })
  expect((await meanwhile(stage, updated)).status).toBe(200)
  const other = await behind()
  const resourceVersion = stringAt(other.newest, 'metadata', 'resourceVersion')
  const body = { preconditions: { resourceVersion } }
  const deleted = other.api.call('DELETE', WEB, { body })
  expect((await meanwhile(other, deleted)).status).toBe(200)
})

test('what the newest refuses is refused', async () => {
  const stage = await behind()
  const updated = stage.api.call('PUT', WEB, { body: stage.stale })
  expect((await meanwhile(stage, updated)).status).toBe(409)
})
