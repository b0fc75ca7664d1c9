import { expect, test } from 'vitest'
import { type Json, valueAt } from '../../lib/json.ts'
import { POD, PODS, SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'

const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'

function patch(api: TestApi, path: string, type: string, body: Json | string) {
  return api.call('PATCH', path, { body, headers: { 'content-type': type } })
}

test('a merge patch merges maps, replaces lists and deletes by null', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web', { selector: { a: '1' } }, { labels: { x: '1', y: '2' } }))
  const answer = await patch(api, `${SERVICES}/web`, MERGE, {
    metadata: { labels: { x: null, z: '3' } },
    spec: { ports: [{ name: 'b', port: 81 }] },
  })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({
    metadata: { labels: { y: '2', z: '3' } },
    spec: { selector: { a: '1' }, ports: [{ name: 'b', port: 81, protocol: 'TCP' }] },
  })
  expect(valueAt(answer.body, 'metadata', 'labels', 'x')).toBeUndefined()
})

test('a merge patch cannot reach a prototype', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('p'))
  const answer = await patch(
    api,
    `${SERVICES}/p`,
    MERGE,
    '{"spec":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}',
  )
  expect(answer.status).toBe(200)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  expect(answer.text).toContain('"__proto__":{"polluted":true}')
})

test('a JSON patch is applied in order, atomically', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web', {}, { labels: { a: '1' } }))
  const good = await patch(api, `${SERVICES}/web`, JSON_PATCH, [
    { op: 'test', path: '/kind', value: 'Service' },
    { op: 'replace', path: '/spec/ports/0/port', value: 81 },
    { op: 'add', path: '/metadata/labels/b', value: '2' },
    { op: 'remove', path: '/metadata/labels/a' },
  ])
  expect(good.body).toMatchObject({
    metadata: { labels: { b: '2' } },
    spec: { ports: [{ port: 81 }] },
  })
  const bad = await patch(api, `${SERVICES}/web`, JSON_PATCH, [
    { op: 'replace', path: '/spec/ports/0/port', value: 82 },
    { op: 'test', path: '/metadata/name', value: 'other' },
  ])
  expect(bad.status).toBe(422)
  expect(bad.body['message']).toContain('operation 1: the test of')
  expect((await api.call('GET', `${SERVICES}/web`)).body).toEqual(good.body)
  expect(valueAt(made, 'spec', 'clusterIP')).toBe(valueAt(good.body, 'spec', 'clusterIP'))
})

test.each([
  ['a missing path', [{ op: 'remove', path: '/metadata/nope' }], 'no such path'],
  [
    'an inherited path',
    [{ op: 'replace', path: '/metadata/constructor/name', value: 'x' }],
    'no such path',
  ],
  [
    'an inherited source',
    [{ op: 'copy', from: '/metadata/valueOf', path: '/spec/x' }],
    'no such path in from',
  ],
  ['a prototype', [{ op: 'add', path: '/__proto__/polluted', value: 1 }], 'no such path'],
  [
    'a test of another value',
    [{ op: 'test', path: '/kind', value: 'Node' }],
    'the test of "/kind" failed',
  ],
  [
    'an index behind the end',
    [{ op: 'add', path: '/spec/containers/2', value: {} }],
    'no such path',
  ],
  [
    'an index that is none',
    [{ op: 'replace', path: '/spec/containers/01', value: {} }],
    'no such path',
  ],
  ['no value', [{ op: 'add', path: '/spec/x' }], 'it has no value'],
  ['a move into itself', [{ op: 'move', from: '/spec', path: '/spec/x' }], 'into itself'],
  ['an inherited operation', [{ op: 'constructor', path: '/spec' }], 'unknown op "constructor"'],
  ['no operation', ['x'], 'it must be an object'],
  ['a path that is no pointer', [{ op: 'add', path: 'spec', value: 1 }], 'no such path'],
])('a JSON patch with %s is 422', async (_what, operations, text) => {
  const api = await startApi()
  await api.make(PODS, { metadata: { name: 'p' }, spec: POD })
  const answer = await patch(api, `${PODS}/p`, JSON_PATCH, operations)
  expect(answer.status).toBe(422)
  expect(answer.body['message']).toContain(text)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('a JSON patch of 10,001 operations and one that copies without end are 413', async () => {
  const api = await startApi()
  const big = 'x'.repeat(100_000)
  await api.make(PODS, { metadata: { name: 'p', annotations: { big } }, spec: POD })
  const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Pod' }))
  const flood = await patch(api, `${PODS}/p`, JSON_PATCH, many)
  expect([flood.status, flood.body['reason']]).toEqual([413, 'RequestEntityTooLarge'])
  const copies = Array.from({ length: 60 }, (_, index) => ({
    op: 'copy',
    from: '/metadata/annotations/big',
    path: `/spec/c${index}`,
  }))
  expect((await patch(api, `${PODS}/p`, JSON_PATCH, copies)).status).toBe(413)
})

test('a strategic patch merges ports by number and obeys directives', async () => {
  const api = await startApi()
  const ports = [
    { name: 'a', port: 80 },
    { name: 'b', port: 81 },
  ]
  await api.make(SERVICES, service('web', { ports }))
  const answer = await patch(api, `${SERVICES}/web`, STRATEGIC, {
    spec: {
      $setElementOrder: [],
      '$setElementOrder/ports': [{ port: 82 }, { port: 80 }],
      ports: [
        { port: 82, name: 'c' },
        { port: 80, targetPort: 8080 },
        { port: 81, $patch: 'delete' },
      ],
    },
  })
  expect(answer.status).toBe(200)
  expect(valueAt(answer.body, 'spec', 'ports')).toMatchObject([
    { name: 'c', port: 82 },
    { name: 'a', port: 80, targetPort: 8080 },
  ])
  const bad = await patch(api, `${SERVICES}/web`, STRATEGIC, { spec: { $patch: 'nonsense' } })
  expect(bad.status).toBe(422)
})

test('a patch that names an old version is 409, one without survives other writers', async () => {
  const api = await startApi()
  const made = await api.make(PODS, { metadata: { name: 'p' }, spec: POD })
  const resourceVersion = valueAt(made, 'metadata', 'resourceVersion')!
  const changes = Array.from({ length: 15 }, (_, index) => ({
    metadata: { labels: { [`l${index}`]: 'x' } },
  }))
  const answers = await Promise.all(changes.map((change) => patch(api, `${PODS}/p`, MERGE, change)))
  expect(answers.map((answer) => answer.status)).toEqual(changes.map(() => 200))
  const labels = valueAt((await api.call('GET', `${PODS}/p`)).body, 'metadata', 'labels')
  expect(Object.keys(labels ?? {})).toHaveLength(15)
  const stale = await patch(api, `${PODS}/p`, MERGE, {
    metadata: { resourceVersion, labels: { l0: null } },
  })
  expect(stale.status).toBe(409)
})

test('a patch that changes nothing takes no version', async () => {
  const api = await startApi()
  const made = await api.make(PODS, { metadata: { name: 'p', labels: { a: '1' } }, spec: POD })
  const answer = await patch(api, `${PODS}/p`, MERGE, { metadata: { labels: { a: '1' } } })
  expect(answer.body).toEqual(made)
})

test('status is patched through its subresource', async () => {
  const api = await startApi()
  await api.make(PODS, { metadata: { name: 'p' }, spec: { ...POD, nodeName: 'n1' } })
  const change = { spec: { nodeName: 'n2' }, status: { phase: 'Running', podIP: '10.1.0.1' } }
  const answer = await patch(api, `${PODS}/p/status`, MERGE, change)
  expect(answer.body).toMatchObject({ spec: { nodeName: 'n1' }, status: { phase: 'Running' } })
  const conditions = [{ type: 'Ready', status: 'True' }]
  const merged = await patch(api, `${PODS}/p/status`, STRATEGIC, { status: { conditions } })
  expect(merged.body['status']).toEqual({ phase: 'Running', podIP: '10.1.0.1', conditions })
})

test('other patch types are 415, missing objects 404, invalid results 422', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const unknown = await patch(api, `${SERVICES}/web`, 'application/yaml', '{}')
  expect([unknown.status, unknown.body['reason']]).toEqual([415, 'UnsupportedMediaType'])
  expect((await patch(api, `${SERVICES}/none`, MERGE, {})).status).toBe(404)
  const invalid = await patch(api, `${SERVICES}/web`, MERGE, { spec: { ports: [{ port: -1 }] } })
  expect(invalid.status).toBe(422)
  expect((await patch(api, `${SERVICES}/web`, MERGE, [])).status).toBe(400)
  expect((await patch(api, `${SERVICES}/web`, JSON_PATCH, {})).status).toBe(400)
})
