import { expect, test } from 'vitest'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { services } from '../kinds/service/resource.ts'
import { type ServedVersion, servedVersionsOf } from '../resource/resource.ts'
import { POD, PODS, SERVICES, service, startApi } from '../testing/test-api.ts'
import { partialRepresentation, plainRepresentation } from './document-representation.ts'

const PARTIAL = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }
const LIST = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const ONE = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const TABLE = 'as=Table;g=meta.k8s.io;v=v1'

/** What clients that want metadata send: the first form that the server has counts. */
function preferring(as: string): Readonly<Record<string, string>> {
  const kube = 'application/vnd.kubernetes.protobuf'
  return { accept: `${kube};${as},application/json;${as},application/json` }
}

const MESSY = { quoted: '"}', path: 'C:\\', nested: '{"a":{"b":"}\\""}}', letters: 'ä{ö' }

test('one object, read and written, is answered by its metadata', async () => {
  const api = await startApi()
  const body = service('web', {}, { annotations: MESSY })
  const headers = preferring(ONE)
  const made = await api.call('POST', SERVICES, { body, headers })
  expect(made.status).toBe(201)
  const { metadata } = (await api.call('GET', `${SERVICES}/web`)).body
  expect(metadata).toHaveProperty('managedFields')
  expect(made.body).toEqual({ ...PARTIAL, metadata })
  expect((await api.call('GET', `${SERVICES}/web`, { headers })).body).toEqual(made.body)
})

test('a list is one of metadata, page by page', async () => {
  const api = await startApi()
  for (const name of ['a', 'b', 'c']) await api.make(SERVICES, service(name))
  const whole = (await api.call('GET', SERVICES)).body
  const first = await api.call('GET', `${SERVICES}?limit=2`, { headers: preferring(LIST) })
  const { kind, apiVersion, metadata, items } = first.body
  expect({ kind, apiVersion }).toEqual({ ...PARTIAL, kind: 'PartialObjectMetadataList' })
  expect(metadata).toMatchObject({ ...(whole['metadata'] as JsonObject), remainingItemCount: 1 })
  const next = `${SERVICES}?limit=2&continue=${stringAt(metadata, 'continue')}`
  const second = (await api.call('GET', next, { headers: preferring(LIST) })).body
  const expected = (whole['items'] as JsonObject[]).map((one) => ({
    ...PARTIAL,
    metadata: one['metadata'],
  }))
  expect([...(items as JsonObject[]), ...(second['items'] as JsonObject[])]).toEqual(expected)
})

test('a long list of metadata is compressed like any other', async () => {
  const api = await startApi()
  for (let index = 0; index < 20; index++) {
    const annotations = { padding: 'x'.repeat(10_000) }
    await api.make(PODS, { metadata: { name: `p${index}`, annotations }, spec: POD })
  }
  const headers = preferring(LIST)
  const plain = await api.call('GET', PODS, { headers })
  const packed = await fetch(`${api.url}${PODS}`, {
    headers: { ...headers, 'accept-encoding': 'gzip' },
  })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  expect(await packed.text()).toBe(plain.text)
  expect(plain.body['items']).toHaveLength(20)
})

test('a watch shows metadata in its initial events, bookmarks and changes', async () => {
  const api = await startApi()
  const { metadata } = await api.make(SERVICES, service('web'))
  const initial = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1'
  const watch = await api.watch(`${SERVICES}?watch=1&${initial}`, preferring(ONE))
  expect(await watch.next()).toEqual({ type: 'ADDED', object: { ...PARTIAL, metadata } })
  const annotations = { 'k8s.io/initial-events-end': 'true' }
  const resourceVersion = String(await api.store.revision())
  expect(await watch.next()).toEqual({
    type: 'BOOKMARK',
    object: { ...PARTIAL, metadata: { resourceVersion, creationTimestamp: null, annotations } },
  })
  const other = await api.make(SERVICES, service('other', {}, { annotations: MESSY }))
  expect(await watch.next()).toEqual({
    type: 'ADDED',
    object: { ...PARTIAL, metadata: other['metadata'] },
  })
  await api.call('DELETE', `${SERVICES}/web`)
  const gone = await watch.next()
  expect(gone).toMatchObject({ type: 'DELETED', object: { ...PARTIAL, metadata: { name: 'web' } } })
  expect(Object.keys(gone!.object)).toEqual(['kind', 'apiVersion', 'metadata'])
  watch.close()
})

test.each([
  [`application/json;${TABLE}, application/json;${LIST}, application/json`, 'Table'],
  [`application/json;${LIST}, application/json;${TABLE}`, 'PartialObjectMetadataList'],
  [`application/json, application/json;${LIST}`, 'ServiceList'],
  [`application/json;${ONE}, application/json`, 'ServiceList'],
  [`application/json;${ONE}`, 406],
  [`application/vnd.kubernetes.protobuf;${LIST}`, 406],
  ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v2', 406],
  ['application/json;as=PartialObjectMetadataList;g=other;v=v1', 406],
  ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1', 'meta.k8s.io/v1beta1'],
])('a list for Accept: %s is %s', async (accept, expected) => {
  const api = await startApi()
  const { status, body } = await api.call('GET', SERVICES, { headers: { accept } })
  const shown = [body['kind'], stringAt(body, 'apiVersion'), status]
  expect(shown).toContain(expected)
})

test('there is no list form of one object', async () => {
  const api = await startApi()
  const accept = `application/json;${LIST}`
  const answer = await api.call('GET', '/api/v1/namespaces/default', { headers: { accept } })
  expect([answer.status, answer.body['reason']]).toEqual([406, 'NotAcceptable'])
})

test('all served versions of an object have the same metadata', () => {
  const metadata = { name: 'x', labels: { a: 'b' }, managedFields: [{ apiVersion: 'v1' }] }
  const stored = { metadata, endpoints: [], roleRef: {}, subjects: [] }
  const servedVersions = catalogue.flatMap(servedVersionsOf)
  const shown = servedVersions.map(({ fromStored }) => (fromStored?.(stored) ?? stored)['metadata'])
  expect(shown).toEqual(servedVersions.map(() => metadata))
})

test('watchers share the bytes of an event when they want the same, and only then', () => {
  const [served] = servedVersionsOf(services) as [ServedVersion]
  const ids = () => [
    plainRepresentation(served).id,
    partialRepresentation('v1').id,
    partialRepresentation('v1beta1').id,
  ]
  expect(ids()).toEqual(ids())
  expect(new Set(ids()).size).toBe(3)
})
