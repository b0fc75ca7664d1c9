import { expect, test } from 'vitest'
import { type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import {
  POD,
  PODS,
  SERVICES,
  SLICES,
  service,
  startApi,
  type TestApi,
} from '../testing/test-api.ts'

const WEB = `${SERVICES}/web`

function apply(api: TestApi, path: string, body: Json | string) {
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  return api.call('PATCH', path, { body, headers })
}

function merge(api: TestApi, path: string, body: JsonObject) {
  return api.call('PATCH', path, {
    body,
    headers: { 'content-type': 'application/merge-patch+json' },
  })
}

/** An object as it is applied: with its type. */
function web(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', ...metadata }, spec }
}

/** `manager operation` of every entry, with the fields inside the requested part. */
function owners(object: JsonObject, ...part: readonly string[]): JsonObject {
  const entries = (valueAt(object, 'metadata', 'managedFields') ?? []) as JsonObject[]
  const pairs = entries.map((entry) => {
    const fields = Object.keys(objectAt(entry, 'fieldsV1', ...part))
    return [`${stringAt(entry, 'manager')} ${stringAt(entry, 'operation')}`, fields] as const
  })
  return Object.fromEntries(pairs)
}

test('applying a missing object creates it, again does nothing', async () => {
  const api = await startApi()
  const manifest = web({ ports: [{ port: 80 }] }, { labels: { a: '1' } })
  const made = await apply(api, `${WEB}?fieldManager=me`, manifest)
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    metadata: { name: 'web', labels: { a: '1' } },
    spec: { type: 'ClusterIP', ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }] },
  })
  expect(valueAt(made.body, 'metadata', 'managedFields')).toEqual([
    {
      manager: 'me',
      operation: 'Apply',
      apiVersion: 'v1',
      time: valueAt(made.body, 'metadata', 'creationTimestamp'),
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': { 'f:labels': { 'f:a': {} } },
        'f:spec': {
          'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
        },
      },
    },
  ])
  const again = await apply(api, `${WEB}?fieldManager=me`, manifest)
  expect([again.status, again.body]).toEqual([200, made.body])
})

test('what an owner no longer applies goes; its defaults come back', async () => {
  const api = await startApi()
  const ports = [{ port: 80, name: 'a' }]
  await apply(
    api,
    `${WEB}?fieldManager=me`,
    web({ ports: [...ports, { port: 81, name: 'b' }], sessionAffinity: 'ClientIP' }),
  )
  const { status, body } = await apply(api, `${WEB}?fieldManager=me`, web({ ports }))
  expect(status).toBe(200)
  expect(body['spec']).toMatchObject({ ports, sessionAffinity: 'None' })
  expect(valueAt(body, 'spec', 'sessionAffinityConfig')).toBeUndefined()
})

test('a conflict is 409 with a cause per field, in words that name the other', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  const time = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
  await api.call('POST', `${SERVICES}?fieldManager=you`, {
    body: service('web', { selector: { app: 'a' } }, { labels: { x: '1' } }),
  })
  const one = await apply(api, `${WEB}?fieldManager=me`, web({ selector: { app: 'b' } }))
  expect(one.status).toBe(409)
  expect(one.body).toMatchObject({
    reason: 'Conflict',
    message: `Apply failed with 1 conflict: conflict with "you" using v1 at ${time}: .spec.selector`,
    details: {
      causes: [
        {
          reason: 'FieldManagerConflict',
          message: `conflict with "you" using v1 at ${time}`,
          field: '.spec.selector',
        },
      ],
    },
  })
  const manifest = web({ selector: { app: 'b' } }, { labels: { x: '2' } })
  const two = await apply(api, `${WEB}?fieldManager=me`, manifest)
  expect(two.body['message']).toBe(
    `Apply failed with 2 conflicts: conflicts with "you" using v1 at ${time}:\n- .metadata.labels.x\n- .spec.selector`,
  )
  const unforced = await apply(api, `${WEB}?fieldManager=me&force=False`, manifest)
  expect(unforced.status).toBe(409)
  const forced = await apply(api, `${WEB}?fieldManager=me&force=yes`, manifest)
  expect(forced.status).toBe(200)
  expect(forced.body).toMatchObject(manifest)
  expect(owners(forced.body, 'f:metadata', 'f:labels')).toEqual({
    'me Apply': ['f:x'],
    'you Update': [],
  })
})

test('every write is owned by its fieldManager or its program', async () => {
  const api = await startApi()
  const headers = { 'user-agent': 'curl/8.1 (x)' }
  const body = service('web', {}, { labels: { a: '1', b: '1' } })
  const made = await api.call('POST', SERVICES, { body, headers })
  expect(owners(made.body)).toEqual({ 'curl Update': ['f:metadata', 'f:spec'] })
  expect(owners(made.body, 'f:metadata')).toEqual({ 'curl Update': ['f:labels'] })
  const inSpec = owners(made.body, 'f:spec')['curl Update']
  expect(inSpec).toContain('f:ports')
  for (const unowned of ['.', 'f:clusterIP']) expect(inSpec).not.toContain(unowned)
  const put = await api.call('PUT', `${WEB}?fieldManager=put`, {
    body: {
      ...made.body,
      metadata: { ...objectAt(made.body, 'metadata'), labels: { a: '2', b: '1' } },
    },
  })
  const patched = await merge(api, `${WEB}?fieldManager=patch`, {
    metadata: { labels: { b: null, c: '1' } },
  })
  expect([put.status, patched.status]).toEqual([200, 200])
  expect(owners(patched.body, 'f:metadata', 'f:labels')).toEqual({
    'curl Update': [],
    'put Update': ['f:a'],
    'patch Update': ['f:c'],
  })
})

test('status is owned apart, through its subresource', async () => {
  const api = await startApi()
  await api.make(PODS, { metadata: { name: 'p' }, spec: POD })
  const conditions = [{ type: 'Ready', status: 'True' }]
  const { body } = await apply(api, `${PODS}/p/status?fieldManager=kubelet`, {
    metadata: { name: 'p' },
    spec: { nodeName: 'ignored' },
    status: { phase: 'Running', conditions },
  })
  expect(body).toMatchObject({ status: { phase: 'Running', conditions } })
  expect(valueAt(body, 'spec', 'nodeName')).toBeUndefined()
  const entry = (valueAt(body, 'metadata', 'managedFields') as JsonObject[])[0]
  expect(entry).toMatchObject({ manager: 'kubelet', subresource: 'status' })
  expect(Object.keys(objectAt(entry, 'fieldsV1'))).toEqual(['f:status'])
  const missing = await apply(api, `${PODS}/q/status?fieldManager=kubelet`, { status: {} })
  expect(missing.status).toBe(404)
})

test('a write that changes nothing touches no times and takes no revision', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  const manifest = web({ ports: [{ port: 80 }] }, { labels: { a: '1' } })
  await apply(api, `${WEB}?fieldManager=me`, manifest)
  const before = await api.call('GET', WEB)
  await clock.advance(5000)
  await apply(api, `${WEB}?fieldManager=me`, manifest)
  await merge(api, `${WEB}?fieldManager=you`, { metadata: { labels: { a: '1' } } })
  await api.call('PUT', `${WEB}?fieldManager=you`, { body: before.body })
  expect((await api.call('GET', WEB)).body).toEqual(before.body)
})

test('versions and brands of a kind share owners', async () => {
  const api = await startApi()
  const slice = { metadata: { name: 's' }, addressType: 'IPv4', ports: [] }
  const endpoints = [{ addresses: ['10.1.0.1'] }]
  const made = await apply(api, `${SLICES}/s?fieldManager=me`, { ...slice, endpoints })
  expect(made.status).toBe(201)
  const beta = SLICES.replace('/v1/', '/v1beta1/')
  const topology = { 'kubernetes.io/hostname': 'n1' }
  const { status, body } = await apply(api, `${beta}/s?fieldManager=me`, {
    ...slice,
    endpoints: [{ ...endpoints[0], topology }],
  })
  expect([status, body['endpoints']]).toMatchObject([200, [{ topology }]])
  expect(valueAt(body, 'metadata', 'managedFields')).toMatchObject([
    { manager: 'me', apiVersion: 'discovery.k8s.io/v1' },
  ])
})

test('clients may hand over ownership, or forget it', async () => {
  const api = await startApi()
  const made = await api.make(
    `${SERVICES}?fieldManager=old`,
    service('web', {}, { labels: { a: '1' } }),
  )
  const [entry] = valueAt(made, 'metadata', 'managedFields') as JsonObject[]
  const managedFields = [{ ...entry, manager: 'me', operation: 'Apply' }]
  await merge(api, WEB, { metadata: { managedFields } })
  const applied = await apply(api, `${WEB}?fieldManager=me`, web({ ports: [{ port: 80 }] }))
  expect(applied.status).toBe(200)
  expect(valueAt(applied.body, 'metadata', 'labels')).toBeUndefined()
  const broken = await merge(api, WEB, { metadata: { managedFields: [{ manager: 'x' }] } })
  expect(broken.body).toEqual(applied.body)
  const forgotten = await merge(api, WEB, { metadata: { managedFields: [{}] } })
  expect(valueAt(forgotten.body, 'metadata', 'managedFields')).toBeUndefined()
  const conflict = await apply(
    api,
    `${WEB}?fieldManager=me`,
    web({ ports: [{ port: 80, targetPort: 9 }] }),
  )
  expect(conflict.body['message']).toContain('conflict with "before-first-apply" using v1')
})

test('kubectl may change what it applied on the client side before', async () => {
  const api = await startApi()
  const manifest = web({ ports: [{ port: 80 }] }, { labels: { a: '1', b: '1' } })
  const last = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(manifest) }
  const body = web({ ports: [{ port: 80 }] }, { labels: { a: '1', b: '1' }, annotations: last })
  await api.call('POST', `${SERVICES}?fieldManager=kubectl-client-side-apply`, { body })
  const changed = web({ ports: [{ port: 80 }] }, { labels: { a: '2', b: '1' } })
  expect((await apply(api, `${WEB}?fieldManager=other`, changed)).status).toBe(409)
  const switched = await apply(api, `${WEB}?fieldManager=kubectl`, changed)
  expect(switched.status).toBe(200)
  const record = Object.values(objectAt(switched.body, 'metadata', 'annotations'))[0]
  expect(JSON.parse(record as string)).toMatchObject(changed)
  expect((await apply(api, `${WEB}?fieldManager=kubectl`, changed)).body).toEqual(switched.body)
  await merge(api, `${WEB}?fieldManager=you`, { metadata: { labels: { b: '2' } } })
  expect((await apply(api, `${WEB}?fieldManager=kubectl`, changed)).status).toBe(409)
})

test('many writers at once each get their field', async () => {
  const api = await startApi()
  const names = Array.from({ length: 10 }, (_, index) => `m${index}`)
  const answers = await Promise.all(
    names.map((name) =>
      apply(api, `${PODS}/p?fieldManager=${name}`, {
        metadata: { name: 'p', labels: { [name]: '1' } },
        spec: { containers: [{ name: 'main', image: 'none' }] },
      }),
    ),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(9)
  const { body } = await api.call('GET', `${PODS}/p`)
  expect(Object.keys(objectAt(body, 'metadata', 'labels')).sort()).toEqual(names)
})

test('an apply that meets an object made in between is applied to it', async () => {
  let interlude: (() => Promise<unknown>) | undefined
  const api = await startApi({
    wrap: (store) => ({
      ...store,
      txn: async (transaction) => {
        const isWeb = transaction.operations.some(({ key }) => key === '/services/default/web')
        const run = isWeb ? interlude : undefined
        if (run !== undefined) interlude = undefined
        await run?.()
        return store.txn(transaction)
      },
    }),
  })
  const ports = [{ port: 80 }]
  interlude = () => apply(api, `${WEB}?fieldManager=a`, web({ ports }, { labels: { a: '1' } }))
  const late = await apply(api, `${WEB}?fieldManager=b`, web({ ports }, { labels: { b: '1' } }))
  expect(late.status).toBe(200)
  expect(valueAt(late.body, 'metadata', 'labels')).toEqual({ a: '1', b: '1' })
})

test('updates by many programs do not make an object grow', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  await api.make(`${SERVICES}?fieldManager=m`, service('web'))
  for (let index = 0; index < 30; index++) {
    await clock.advance(1000)
    await merge(api, `${WEB}?fieldManager=m${index}`, {
      metadata: { labels: { [`l${index}`]: '1' } },
    })
  }
  const { body } = await api.call('GET', WEB)
  const entries = owners(body, 'f:metadata', 'f:labels')
  expect(Object.keys(entries)).toHaveLength(10)
  expect(entries['ancient-changes Update']).toHaveLength(22)
})

test.each([
  [
    'no fieldManager',
    '',
    web({}),
    422,
    'fieldManager: Required value: is required for apply patch',
  ],
  [
    'a long fieldManager',
    `?fieldManager=${'m'.repeat(129)}`,
    web({}),
    422,
    'fieldManager: Too long: may not be longer than 128',
  ],
  [
    'an unprintable fieldManager',
    '?fieldManager=a%00',
    web({}),
    422,
    'should only contain printable characters',
  ],
  [
    'managedFields',
    '?fieldManager=m',
    web({}, { managedFields: [] }),
    400,
    'metadata.managedFields must be nil',
  ],
  [
    'another name',
    '?fieldManager=m',
    web({}, { name: 'other' }),
    400,
    'does not match the name on the URL',
  ],
  [
    'another kind',
    '?fieldManager=m',
    { kind: 'Pod' },
    400,
    '"Pod" was sent where a Service is expected',
  ],
  ['a list', '?fieldManager=m', [], 400, 'must be a JSON object'],
  [
    'unknown fields',
    '?fieldManager=m',
    web({ foo: 1, ports: [{ port: 80, bar: 1 }] }),
    400,
    'failed to create typed patch object (default/web; v1, Kind=Service): .spec.foo: field not declared in schema; .spec.ports[port=80,protocol="TCP"].bar: field not declared in schema',
  ],
  [
    'a port without number',
    '?fieldManager=m',
    web({ ports: [{ name: 'x' }] }),
    400,
    '.spec.ports: element 0: associative list with keys has an element that omits key field "port"',
  ],
  [
    'a port twice',
    '?fieldManager=m',
    web({ ports: [{ port: 80 }, { port: 80, protocol: 'TCP' }] }),
    400,
    '.spec.ports: duplicate entries for [port=80,protocol="TCP"]',
  ],
  [
    'a condition on a missing object',
    '?fieldManager=m',
    web({}, { resourceVersion: '1' }),
    409,
    'Operation cannot be fulfilled',
  ],
  [
    'a wrong value',
    '?fieldManager=m',
    web({ ports: [{ port: 99_999 }] }),
    422,
    'spec.ports[0].port',
  ],
])('%s is refused', async (_what, query, body, status, text) => {
  const api = await startApi()
  const answer = await apply(api, `${WEB}${query}`, body)
  expect([answer.status, answer.body['message']]).toEqual([status, expect.stringContaining(text)])
})

test.each(['', '0'])(
  'resourceVersion %j of what is applied is no condition',
  async (resourceVersion) => {
    const api = await startApi()
    const manifest = web({ ports: [{ port: 80 }] }, { resourceVersion, uid: '' })
    const made = await apply(api, `${WEB}?fieldManager=me`, manifest)
    expect(made).toMatchObject({ status: 201, body: { metadata: { name: 'web' } } })
    const again = await apply(api, `${WEB}?fieldManager=me`, manifest)
    expect([again.status, again.body]).toEqual([200, made.body])
  },
)

test('force is for apply only, and dryRun stores nothing', async () => {
  const api = await startApi()
  const dry = await apply(api, `${WEB}?fieldManager=m&dryRun=All`, web({ ports: [{ port: 80 }] }))
  expect(dry.status).toBe(201)
  expect((await api.call('GET', WEB)).status).toBe(404)
  await api.make(SERVICES, service('web'))
  const forced = await merge(api, `${WEB}?force=true`, {})
  expect(forced.body['message']).toBe(
    'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
  )
})
