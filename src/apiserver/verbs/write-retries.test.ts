import { request as httpRequest } from 'node:http'
import { expect, test } from 'vitest'
import type { Clock } from '../../lib/clock.ts'
import { type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Store, Transaction } from '../../storage/store.ts'
import { startApi, type TestApi } from '../testing/test-api.ts'

const MAPS = '/api/v1/namespaces/default/configmaps'
const PATH = `${MAPS}/c`
const KEY = /configmaps\/default\/c$/

const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const APPLY = 'application/apply-patch+yaml'

const patch = (api: TestApi, body: Json, contentType = MERGE, query = '') =>
  api.call('PATCH', `${PATH}${query}`, { headers: { 'content-type': contentType }, body })

const label = (api: TestApi, name: string) => patch(api, { metadata: { labels: { [name]: 'x' } } })

const labelsOf = (object: JsonObject) => valueAt(object, 'metadata', 'labels')

const writesIt = ({ operations }: Transaction) => operations.some(({ key }) => KEY.test(key))

/** A server whose writes of one object wait while they are held. */
async function held(clock?: Clock) {
  let gate = Promise.resolve()
  let waiting = 0
  const wrap = (store: Store): Store => ({
    ...store,
    txn: async (transaction) => {
      if (writesIt(transaction)) {
        waiting++
        await gate
        waiting--
      }
      return store.txn(transaction)
    },
  })
  const api = await startApi({ wrap, ...(clock === undefined ? {} : { clock }) })
  const made = await api.make(MAPS, { metadata: { name: 'c' } })
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    return resolve
  }
  const isWriting = () => expect.poll(() => waiting).toBe(1)
  return { api, made, hold, isWriting }
}

/** A server beside which another replica writes the object just before this one does. */
async function rivalled(rounds: number, rival: (store: Store, key: string) => Promise<unknown>) {
  let left = 0
  const wrap = (store: Store): Store => ({
    ...store,
    txn: async (transaction) => {
      const key = transaction.operations.find((one) => KEY.test(one.key))?.key
      if (key !== undefined && left > 0) {
        left--
        await rival(store, key)
      }
      return store.txn(transaction)
    },
  })
  const api = await startApi({ wrap })
  const made = await api.make(MAPS, { metadata: { name: 'c' }, data: { a: '0' } })
  left = rounds
  return { api, made, left: () => left }
}

/** Writes the object as another replica does: around this server. */
async function writeAround(store: Store, key: string, change: (object: JsonObject) => JsonObject) {
  const entry = await store.get(key)
  const object = JSON.parse(entry!.value.toString()) as JsonObject
  const value = Buffer.from(JSON.stringify(change(object)))
  await store.txn({ compare: [], operations: [{ op: 'put', key, value }] })
}

const withData = (data: JsonObject) => (object: JsonObject) => ({
  ...object,
  data: { ...objectAt(object, 'data'), ...data },
})

test('a write that loses to another replica fifty times is made in the end', async () => {
  let round = 0
  const { api, left } = await rivalled(50, (store, key) =>
    writeAround(store, key, withData({ [`r${round++}`]: 'x' })),
  )
  const { status, body } = await label(api, 'mine')
  expect([status, labelsOf(body), left()]).toEqual([200, { mine: 'x' }, 0])
  expect(Object.keys(objectAt(body, 'data'))).toHaveLength(51)
})

test('a JSON patch whose test fails on what the other replica left is refused', async () => {
  const { api } = await rivalled(1, (store, key) => writeAround(store, key, withData({ a: '1' })))
  const operations = [
    { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
    { op: 'test', path: '/data/a', value: '0' },
  ]
  const { status, body } = await patch(api, operations, JSON_PATCH)
  expect([status, body['reason']]).toEqual([422, 'Invalid'])
})

test('an apply that conflicts with what the other replica left is refused', async () => {
  const owner = {
    manager: 'you',
    operation: 'Apply',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { 'f:b': {} } },
  }
  const theirs = (object: JsonObject): JsonObject => {
    const metadata = { ...objectAt(object, 'metadata'), managedFields: [owner] }
    return { ...withData({ b: 'theirs' })(object), metadata }
  }
  const { api } = await rivalled(1, (store, key) => writeAround(store, key, theirs))
  const applied = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c' },
    data: { b: 'mine' },
  }
  const { status, body } = await patch(api, applied, APPLY, '?fieldManager=me')
  expect([status, body['message']]).toEqual([409, expect.stringContaining('conflict with "you"')])
})

test('a write that names a version is refused when another replica was first', async () => {
  for (const call of [
    (api: TestApi, resourceVersion: string) =>
      api.call('PUT', PATH, { body: { metadata: { name: 'c', resourceVersion } } }),
    (api: TestApi, resourceVersion: string) =>
      patch(api, { metadata: { resourceVersion, labels: { a: 'b' } } }),
    (api: TestApi, resourceVersion: string) =>
      api.call('DELETE', PATH, { body: { preconditions: { resourceVersion } } }),
  ]) {
    const { api, made } = await rivalled(1, (store, key) => writeAround(store, key, withData({})))
    const { status, body } = await call(api, stringAt(made, 'metadata', 'resourceVersion'))
    expect([status, body['reason']]).toEqual([409, 'Conflict'])
  }
})

test('a deletion that names only a uid is tried again', async () => {
  const { api, made } = await rivalled(3, (store, key) => writeAround(store, key, withData({})))
  const preconditions = { uid: stringAt(made, 'metadata', 'uid') }
  expect((await api.call('DELETE', PATH, { body: { preconditions } })).status).toBe(200)
})

test('a write of an object that another replica removes meanwhile finds none', async () => {
  const { api } = await rivalled(1, (store, key) =>
    store.txn({ compare: [], operations: [{ op: 'delete', key }] }),
  )
  expect((await label(api, 'mine')).status).toBe(404)
})

test('a write that names an old version does not wait for those that are under way', async () => {
  const { api, made, hold, isWriting } = await held()
  expect((await label(api, 'first')).status).toBe(200)
  const release = hold()
  const writing = label(api, 'second')
  await isWriting()
  const resourceVersion = stringAt(made, 'metadata', 'resourceVersion')
  const body = { metadata: { name: 'c', resourceVersion } }
  expect((await api.call('PUT', PATH, { body })).status).toBe(409)
  const versioned = [{ op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }]
  expect((await patch(api, versioned, JSON_PATCH)).status).toBe(422)
  release()
  expect((await writing).status).toBe(200)
})

test('the write of a client that went away while it waited is not made', async () => {
  const { api, hold, isWriting } = await held()
  const release = hold()
  const writing = label(api, 'first')
  await isWriting()
  const gone = httpRequest(`${api.url}${PATH}`, {
    method: 'PATCH',
    headers: { 'content-type': MERGE },
  })
  gone.on('error', () => undefined)
  gone.end(JSON.stringify({ metadata: { labels: { gone: 'x' } } }))
  await expect.poll(() => writesUnderWay(api)).toBe(2)
  gone.destroy()
  await expect.poll(() => writesUnderWay(api)).toBe(1)
  const last = label(api, 'last')
  await expect.poll(() => writesUnderWay(api)).toBe(2)
  release()
  expect((await writing).status).toBe(200)
  expect(labelsOf((await last).body)).toEqual({ first: 'x', last: 'x' })
})

test('a write that waits for its turn until its deadline is answered 429, and not made', async () => {
  const clock = new FakeClock()
  const { api, hold, isWriting } = await held(clock)
  const release = hold()
  const writing = label(api, 'first')
  await isWriting()
  const late = label(api, 'late')
  await expect.poll(() => writesUnderWay(api)).toBe(2)
  await clock.advance(60_000)
  const { status, headers, body } = await late
  expect([status, headers['retry-after']]).toEqual([429, '1'])
  expect(body['message']).toContain('configmaps "c" was not written')
  release()
  expect(labelsOf((await writing).body)).toEqual({ first: 'x' })
})

test('a write that always loses is answered 429 at its deadline', async () => {
  const clock = new FakeClock()
  let losses = 0
  const wrap = (store: Store): Store => ({
    ...store,
    txn: async (transaction) => {
      const [compared] = transaction.compare
      if (!writesIt(transaction) || compared?.modRevision === 0) return store.txn(transaction)
      losses++
      const newest = await store.get(compared!.key)
      return { committed: false, revision: newest!.modRevision, current: [newest] }
    },
  })
  const api = await startApi({ clock, wrap })
  await api.make(MAPS, { metadata: { name: 'c' } })
  let answer: Awaited<ReturnType<typeof label>> | undefined
  void label(api, 'mine').then((one) => (answer = one))
  await expect.poll(() => losses).toBeGreaterThan(1)
  while (answer === undefined) {
    await clock.advance(1000)
    await api.call('GET', '/livez')
  }
  expect([answer.status, answer.headers['retry-after']]).toEqual([429, '1'])
  expect(losses).toBeGreaterThan(100)
})

async function writesUnderWay(api: TestApi): Promise<number> {
  const { text } = await api.call('GET', '/metrics')
  const [, count] = /apiserver_current_inflight_requests\{request_kind="mutating"\} (\d+)/.exec(
    text,
  )!
  return Number(count)
}
