import { expect, test } from 'vitest'
import { readMeta } from '../objects/object-meta.ts'
import { createObjectWriter, type WritingClient } from './object-writer.ts'
import type { Write } from './write.ts'

const meta = readMeta({
  metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '7' },
})
const ENDPOINTS = '/api/v1/namespaces/shop/endpoints'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices'

async function request(write: Write): Promise<readonly unknown[]> {
  const asked: unknown[] = []
  const answer = async (...parts: readonly unknown[]) => {
    asked.push(...parts)
    return { ok: true, value: {} } as const
  }
  const client: WritingClient = { get: answer, create: answer, patch: answer, remove: answer }
  await createObjectWriter(client).write(write)
  return asked
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

test('so does a deletion', async () => {
  expect(await request({ verb: 'delete', collection: 'endpoints', meta })).toEqual([
    `${ENDPOINTS}/web`,
    { preconditions: { uid: 'u', resourceVersion: '7' } },
  ])
})
