import { expect, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
import { readMeta } from '../objects/object-meta.ts'
import { createObjectWriter, type WritingClient } from './object-writer.ts'
import type { Write } from './write.ts'

const meta = readMeta({
  metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '7' },
})
const ENDPOINTS = '/api/v1/namespaces/shop/endpoints'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices'

async function request(
  write: Write,
  found: ApiResult<unknown> = { ok: true, value: {} },
): Promise<readonly unknown[]> {
  const requests: unknown[] = []
  const answer = async (...parts: readonly unknown[]) => {
    requests.push(...parts)
    return { ok: true, value: {} } as const
  }
  const get = async (...parts: readonly unknown[]) => {
    requests.push(...parts)
    return found
  }
  const client: WritingClient = { get, create: answer, patch: answer, remove: answer }
  const result = await createObjectWriter(client).write(write)
  return result.ok ? requests : [...requests, result.failure.code]
}

test('creates in the collection of the namespace', async () => {
  const write = { verb: 'create', namespace: 'shop', name: '', body: { a: 1 } } as const
  expect(await request({ ...write, collection: 'endpointslices' })).toEqual([SLICES, { a: 1 }])
})

test('a patch holds only for the object and the version that was seen', async () => {
  const body = { metadata: { labels: { a: 'b' } }, subsets: [] }
  expect(await request({ verb: 'patch', collection: 'endpoints', meta, body })).toEqual([
    `${ENDPOINTS}/web`,
    { metadata: { labels: { a: 'b' }, uid: 'u', resourceVersion: '7' }, subsets: [] },
    { type: 'application/merge-patch+json' },
  ])
})

test('a patch is completed when it is written, and holds for that version all the same', async () => {
  const complete = async (part: JsonObject): Promise<JsonObject> => ({ ...part, signed: true })
  const write = { verb: 'patch', collection: 'endpoints', meta } as const
  expect(await request({ ...write, body: { subsets: [] }, complete })).toEqual([
    `${ENDPOINTS}/web`,
    { metadata: { uid: 'u', resourceVersion: '7' }, subsets: [], signed: true },
    { type: 'application/merge-patch+json' },
  ])
})

test('a deletion holds only for the object and the version that was seen', async () => {
  expect(await request({ verb: 'delete', collection: 'endpoints', meta })).toEqual([
    `${ENDPOINTS}/web`,
    { preconditions: { uid: 'u', resourceVersion: '7' } },
  ])
})

test('a deletion says for how long and in what order', async () => {
  const how = { graceSeconds: 0, propagation: 'Foreground' } as const
  expect(await request({ verb: 'delete', collection: 'endpoints', meta, ...how })).toEqual([
    `${ENDPOINTS}/web`,
    {
      preconditions: { uid: 'u', resourceVersion: '7' },
      gracePeriodSeconds: 0,
      propagationPolicy: 'Foreground',
    },
  ])
})

test('a patch of a status is sent to the subresource, as a strategic merge patch', async () => {
  const body = { status: { conditions: [] } }
  const write = { verb: 'patch', collection: 'endpoints', meta, subresource: 'status' } as const
  expect(await request({ ...write, body })).toEqual([
    `${ENDPOINTS}/web/status`,
    { metadata: { uid: 'u', resourceVersion: '7' }, status: { conditions: [] } },
    { type: 'application/strategic-merge-patch+json' },
  ])
})

test('an Event is created in its namespace', async () => {
  const write = { verb: 'record', namespace: 'shop', body: { reason: 'Why' } } as const
  expect(await request(write)).toEqual(['/api/v1/namespaces/shop/events', { reason: 'Why' }])
})

const OWNER = { collection: 'services', namespace: 'shop', name: 'web', uid: 'owner' } as const
const REQUESTED = '/api/v1/namespaces/shop/services/web'
const refused = (code: number): ApiResult<never> => ({
  ok: false,
  failure: statusFailure(code, {}),
})

test.each([
  ['is gone', refused(404), true],
  ['has a successor', { ok: true, value: { metadata: { uid: 'other' } } }, true],
  ['is there', { ok: true, value: { metadata: { uid: 'owner' } } }, 409],
  ['may not be read', refused(403), 403],
] satisfies [string, ApiResult<unknown>, true | number][])(
  'what is owned goes only if the server knows: its owner %s',
  async (_, found, wanted) => {
    const write = { verb: 'delete', collection: 'endpoints', meta, absent: [OWNER] } as const
    const preconditions = { uid: 'u', resourceVersion: '7' }
    const rest = wanted === true ? [`${ENDPOINTS}/web`, { preconditions }] : [wanted]
    expect(await request(write, found)).toEqual([REQUESTED, ...rest])
  },
)

test('an owner without a uid is present under any uid', async () => {
  const found = { ok: true, value: { metadata: { uid: 'any' } } } as const
  const absent = [{ ...OWNER, uid: '' }]
  const write = { verb: 'delete', collection: 'endpoints', meta, absent } as const
  expect(await request(write, found)).toEqual([REQUESTED, 409])
})

test('a patch that follows from an absence waits until the server confirms it', async () => {
  const write = { verb: 'patch', collection: 'endpoints', meta, body: {}, absent: [OWNER] } as const
  const found = { ok: true, value: { metadata: { uid: 'owner' } } } as const
  expect(await request(write, found)).toEqual([REQUESTED, 409])
  expect(await request(write, refused(404))).toMatchObject([REQUESTED, `${ENDPOINTS}/web`, {}, {}])
})

const PODS_OF_SHOP = ['/api/v1/namespaces/shop/pods', { query: { limit: '1' } }] as const

test.each([
  ['nothing', { ok: true, value: { items: [] } }, true],
  ['something', { ok: true, value: { items: [{}] } }, 409],
  ['the server fails', refused(500), 500],
] satisfies [string, ApiResult<unknown>, true | number][])(
  'what follows other deletions is deleted only if the server shows %s of them',
  async (_, found, wanted) => {
    const write = { verb: 'delete', collection: 'endpoints', meta, emptied: 'pods' } as const
    const preconditions = { uid: 'u', resourceVersion: '7' }
    const rest = wanted === true ? [`${ENDPOINTS}/web`, { preconditions }] : [wanted]
    expect(await request(write, found)).toEqual([...PODS_OF_SHOP, ...rest])
  },
)

test.each([
  ['is there', { ok: true, value: { metadata: { uid: 'owner' } } }, true],
  ['has a successor', { ok: true, value: { metadata: { uid: 'other' } } }, 409],
  ['is gone', refused(404), 409],
  ['may not be read', refused(403), 403],
] satisfies [string, ApiResult<unknown>, true | number][])(
  'what goes with another one goes only if the server knows: that %s',
  async (_, found, wanted) => {
    const write = { verb: 'delete', collection: 'endpoints', meta, present: OWNER } as const
    const preconditions = { uid: 'u', resourceVersion: '7' }
    const rest = wanted === true ? [`${ENDPOINTS}/web`, { preconditions }] : [wanted]
    expect(await request(write, found)).toEqual([REQUESTED, ...rest])
  },
)

test.each([
  ['is there', { ok: true, value: { metadata: { uid: 'owner' } } }, true],
  [
    'is being deleted',
    { ok: true, value: { metadata: { uid: 'owner', deletionTimestamp: '2030-01-01T00:00:00Z' } } },
    409,
  ],
  ['has a successor', { ok: true, value: { metadata: { uid: 'other' } } }, 409],
  ['is gone', refused(404), 409],
  ['may not be read', refused(403), 403],
] satisfies [string, ApiResult<unknown>, true | number][])(
  'what belongs to another one is patched only if the server knows: that %s',
  async (_, found, wanted) => {
    const write = { verb: 'patch', collection: 'endpoints', meta, body: {} } as const
    const requests = await request({ ...write, undeleted: OWNER }, found)
    expect(requests.slice(0, 2)).toEqual([REQUESTED, wanted === true ? `${ENDPOINTS}/web` : wanted])
  },
)

test('a deletion may be one of any version, and without grace', async () => {
  const write = { verb: 'delete', collection: 'endpoints', meta, graceSeconds: 0 } as const
  expect(await request({ ...write, anyVersion: true })).toEqual([
    `${ENDPOINTS}/web`,
    { preconditions: { uid: 'u' }, gracePeriodSeconds: 0 },
  ])
})

test('a patch of finalizers is sent to the subresource finalize', async () => {
  const body = { spec: { finalizers: [] } }
  const write = { verb: 'patch', collection: 'endpoints', meta, subresource: 'finalize' } as const
  expect(await request({ ...write, body })).toEqual([
    `${ENDPOINTS}/web/finalize`,
    { metadata: { uid: 'u', resourceVersion: '7' }, spec: { finalizers: [] } },
    { type: 'application/merge-patch+json' },
  ])
})

test('a binding names the Pod as it was seen', async () => {
  const write = { verb: 'bind', collection: 'pods', meta, nodeName: 'node-a' } as const
  const metadata = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '7' }
  const target = { apiVersion: 'v1', kind: 'Node', name: 'node-a' }
  const path = '/api/v1/namespaces/shop/pods/web'
  const body = { apiVersion: 'v1', kind: 'Binding', metadata, target }
  expect(await request(write)).toEqual([`${path}/binding`, body])
})

test('a binding that is refused', async () => {
  const write = { verb: 'bind', collection: 'pods', meta, nodeName: 'node-a' } as const
  const failure = statusFailure(409, {})
  const client = { create: async () => ({ ok: false, failure }) } as unknown as WritingClient
  expect(await createObjectWriter(client).write(write)).toEqual({ ok: false, failure })
})
