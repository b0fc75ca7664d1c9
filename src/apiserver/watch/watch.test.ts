import { expect, onTestFinished, test, vi } from 'vitest'
import { type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import {
  POD,
  PODS,
  SERVICES,
  service,
  startApi,
  type TestApi,
  type WatchEvent,
} from '../testing/test-api.ts'

function show({ type, object }: WatchEvent): readonly string[] {
  return [type, stringAt(object, 'metadata', 'name')]
}

function versionOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'resourceVersion')
}

function relabel(api: TestApi, name: string, labels: JsonObject) {
  const headers = { 'content-type': 'application/merge-patch+json' }
  return api.call('PATCH', `${PODS}/${name}`, { body: { metadata: { labels } }, headers })
}

test('a watch without a version begins with what is there', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('b'))
  const made = await api.make(SERVICES, service('a'))
  const watch = await api.watch(`${SERVICES}?watch=true`)
  const seen = await watch.take(2)
  expect(seen.map(show)).toEqual([
    ['ADDED', 'a'],
    ['ADDED', 'b'],
  ])
  expect(seen[0]?.object).toEqual(made)
  await api.make(SERVICES, service('c'))
  expect(show((await watch.next())!)).toEqual(['ADDED', 'c'])
  watch.close()
})

test('a watch from a version delivers exactly what followed it', async () => {
  const api = await startApi()
  const made = await api.make(PODS, { metadata: { name: 'a' }, spec: POD })
  const second = await relabel(api, 'a', { x: '1' })
  await api.make(SERVICES, service('elsewhere'))
  await api.call('DELETE', `${PODS}/a`)
  const watch = await api.watch(`${PODS}?watch=1&resourceVersion=${versionOf(made)}`)
  const [modified, deleted] = await watch.take(2)
  expect(modified).toEqual({ type: 'MODIFIED', object: second.body })
  expect(deleted?.type).toBe('DELETED')
  expect(deleted?.object['metadata']).toEqual({
    ...objectAt(second.body, 'metadata'),
    resourceVersion: String(await api.store.revision()),
  })
  watch.close()
})

test('an object enters a selection as ADDED and leaves it as DELETED, with its old labels', async () => {
  const api = await startApi()
  const watch = await api.watch(`${PODS}?watch=1&labelSelector=in%3Dyes`)
  await api.make(PODS, { metadata: { name: 'a' }, spec: POD })
  await relabel(api, 'a', { in: 'yes' })
  await relabel(api, 'a', { more: '1' })
  await relabel(api, 'a', { in: 'no' })
  await relabel(api, 'a', { in: 'yes' })
  await api.call('DELETE', `${PODS}/a`)
  const seen = await watch.take(5)
  expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'ADDED', 'DELETED'])
  expect(valueAt(seen[2]?.object, 'metadata', 'labels')).toEqual({ in: 'yes', more: '1' })
  const versions = seen.map(({ object }) => Number(versionOf(object)))
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b))
  watch.close()
})

test('a watch of one name or one namespace sees nothing else', async () => {
  const api = await startApi()
  await api.make('/api/v1/namespaces', { metadata: { name: 'other' } })
  const one = await api.watch(`/api/v1/services?watch=1&fieldSelector=metadata.name%3Db`)
  const other = await api.watch('/api/v1/namespaces/other/services?watch=1')
  await api.make(SERVICES, service('a'))
  await api.make(SERVICES, service('b'))
  await api.make('/api/v1/namespaces/other/services', service('c'))
  expect(show((await one.next())!)).toEqual(['ADDED', 'b'])
  expect(show((await other.next())!)).toEqual(['ADDED', 'c'])
  one.close()
  other.close()
})

test('a client that requests no bookmarks gets none after the initial events', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('a'))
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  const watch = await api.watch(`${SERVICES}?${query}`)
  expect(show((await watch.next())!)).toEqual(['ADDED', 'a'])
  await api.make(SERVICES, service('b'))
  expect(show((await watch.next())!)).toEqual(['ADDED', 'b'])
  watch.close()
})

test('sendInitialEvents ends with a bookmark that says so', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('a'))
  const query =
    'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const watch = await api.watch(`${SERVICES}?${query}`)
  const [added, end] = await watch.take(2)
  expect(show(added!)).toEqual(['ADDED', 'a'])
  expect(end).toMatchObject({
    type: 'BOOKMARK',
    object: {
      kind: 'Service',
      apiVersion: 'v1',
      metadata: {
        resourceVersion: String(await api.store.revision()),
        annotations: { 'k8s.io/initial-events-end': 'true' },
      },
    },
  })
  await api.make(SERVICES, service('b'))
  expect(show((await watch.next())!)).toEqual(['ADDED', 'b'])
  watch.close()
})

test.each(['', '&resourceVersion=0'])(
  'sendInitialEvents=false%s begins with the present state, without showing it',
  async (version) => {
    const api = await startApi()
    await api.make(SERVICES, service('a'))
    const query = `watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan${version}`
    const watch = await api.watch(`${SERVICES}?${query}`)
    await api.make(SERVICES, service('b'))
    expect(show((await watch.next())!)).toEqual(['ADDED', 'b'])
    watch.close()
  },
)

test('sendInitialEvents=false with a version shows what followed it', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('a'))
  await api.make(SERVICES, service('b'))
  const query = `resourceVersionMatch=NotOlderThan&resourceVersion=${versionOf(made)}`
  const watch = await api.watch(`${SERVICES}?watch=1&sendInitialEvents=false&${query}`)
  expect(show((await watch.next())!)).toEqual(['ADDED', 'b'])
  watch.close()
})

test.each([
  'sendInitialEvents=true',
  'sendInitialEvents=true&resourceVersionMatch=Exact',
  'resourceVersionMatch=NotOlderThan&resourceVersion=1',
])('watch with %s is 422', async (query) => {
  const api = await startApi()
  const answer = await api.call('GET', `${SERVICES}?watch=1&${query}`)
  expect([answer.status, answer.body['reason']]).toEqual([422, 'Invalid'])
})

test('a version whose history is gone is answered by an ERROR event with 410', async () => {
  const api = await startApi({ limits: { watchWindowChanges: 5 } })
  const made = await api.make(PODS, { metadata: { name: 'a' }, spec: POD })
  for (let index = 0; index < 10; index++) await relabel(api, 'a', { n: String(index) })
  const watch = await api.watch(`${PODS}?watch=1&resourceVersion=${versionOf(made)}`)
  expect(watch.status).toBe(200)
  const event = await watch.next()
  expect(event).toMatchObject({
    type: 'ERROR',
    object: { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 },
  })
  expect(stringAt(event?.object, 'message')).toMatch(/^too old resource version: \d+ \(\d+\)$/)
  expect(await watch.next()).toBeUndefined()
})

test('a version from the future is 504 after a while', async () => {
  const api = await startApi({ limits: { futureRevisionTimeout: 20 } })
  const answer = await api.call('GET', `${PODS}?watch=1&resourceVersion=1000`)
  expect([answer.status, answer.body['reason']]).toEqual([504, 'Timeout'])
})

test('timeoutSeconds ends a watch cleanly', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  await api.make(PODS, { metadata: { name: 'a' }, spec: POD })
  const watch = await api.watch(`${PODS}?watch=1&timeoutSeconds=30`)
  expect(show((await watch.next())!)).toEqual(['ADDED', 'a'])
  await clock.advance(30_000)
  expect(await watch.next()).toBeUndefined()
})

test('bookmarks come by the minute and before the end, but only with news', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  const start = await api.store.revision()
  const query = `watch=1&resourceVersion=${start}&allowWatchBookmarks=true&timeoutSeconds=200`
  const watch = await api.watch(`${PODS}?${query}`)
  const plain = await api.watch(`${PODS}?watch=1&resourceVersion=${start}&timeoutSeconds=200`)
  await clock.advance(60_000)
  await api.make(SERVICES, service('elsewhere'))
  await api.call('GET', SERVICES)
  const first = await api.store.revision()
  await clock.advance(60_000)
  await clock.advance(60_000)
  await api.make(SERVICES, service('again'))
  await api.call('GET', SERVICES)
  await clock.advance(18_000)
  const last = await api.store.revision()
  await clock.advance(2000)
  const seen = [await watch.next(), await watch.next(), await watch.next()]
  expect(seen.map((event) => event && [event.type, versionOf(event.object)])).toEqual([
    ['BOOKMARK', String(first)],
    ['BOOKMARK', String(last)],
    undefined,
  ])
  expect(await plain.next()).toBeUndefined()
})

test('a table watch names its columns once', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  onTestFinished(() => void vi.useRealTimers())
  const api = await startApi()
  await api.make(SERVICES, service('a'))
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  const watch = await api.watch(`${SERVICES}?watch=1`, { accept })
  const first = await watch.next()
  await api.make(SERVICES, service('b'))
  const second = await watch.next()
  expect(first?.object['columnDefinitions']).toHaveLength(7)
  expect(second?.object['columnDefinitions']).toBeNull()
  expect(second).toMatchObject({
    type: 'ADDED',
    object: {
      kind: 'Table',
      rows: [{ cells: ['b', 'ClusterIP', expect.any(String), '<none>', '80/TCP', '0s', '<none>'] }],
    },
  })
  watch.close()
})

test('too many watches are 429, and a closed one admits another', async () => {
  const api = await startApi({ limits: { watches: 1 } })
  const watch = await api.watch(`${SERVICES}?watch=1`)
  const refused = await api.call('GET', `${SERVICES}?watch=1`)
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5'])
  watch.close()
  await expect
    .poll(async () => {
      const next = await api.watch(`${SERVICES}?watch=1`)
      next.close()
      return next.status
    })
    .toBe(200)
})

test('a stopping server ends its watches cleanly', async () => {
  const api = await startApi()
  const watch = await api.watch(`${SERVICES}?watch=1`)
  const ended = watch.next()
  await api.close()
  expect(await ended).toBeUndefined()
})
