import { expect, test } from 'vitest'
import { valueAt } from '../../lib/json.ts'
import { ENDPOINTS, POD, PODS, SERVICES, SLICES, service, startApi } from '../testing/test-api.ts'

test('a created object gets its metadata from the server and its defaults from its kind', async () => {
  const api = await startApi()
  const answer = await api.call('POST', SERVICES, {
    body: service('web', { selector: { app: 'web' } }, { uid: 'mine', creationTimestamp: null }),
  })
  expect(answer.status).toBe(201)
  expect(answer.body).toMatchObject({
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ports: [{ protocol: 'TCP', targetPort: 80 }],
    },
    status: { loadBalancer: {} },
  })
  expect(valueAt(answer.body, 'metadata', 'uid')).toMatch(/^[0-9a-f-]{36}$/)
  expect(valueAt(answer.body, 'metadata', 'creationTimestamp')).toMatch(
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  )
  expect(valueAt(answer.body, 'metadata', 'resourceVersion')).toBe(
    String(await api.store.revision()),
  )
  expect((await api.call('GET', `${SERVICES}/web`)).body).toEqual(answer.body)
})

test('creating what exists is 409 AlreadyExists', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const { status, body } = await api.call('POST', SERVICES, { body: service('web') })
  expect(status).toBe(409)
  expect(body).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'AlreadyExists',
    message: 'services "web" already exists',
    details: { name: 'web', kind: 'services' },
    code: 409,
  })
})

test('refusals of grouped resources name their group', async () => {
  const api = await startApi()
  const slice = { metadata: { name: 's' }, addressType: 'IPv4', endpoints: [], ports: [] }
  await api.make(SLICES, slice)
  expect((await api.call('POST', SLICES, { body: slice })).body).toMatchObject({
    message: 'endpointslices.discovery.k8s.io "s" already exists',
    details: { group: 'discovery.k8s.io', kind: 'endpointslices' },
  })
})

test('generateName makes unused names', async () => {
  const api = await startApi()
  const names = new Set<unknown>()
  for (let index = 0; index < 20; index++) {
    const made = await api.make(SERVICES, { ...service(''), metadata: { generateName: 'web-' } })
    names.add(valueAt(made, 'metadata', 'name'))
  }
  expect(names.size).toBe(20)
  for (const name of names) expect(name).toMatch(/^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
})

test('a long generateName is cut so that the name stays a label', async () => {
  const api = await startApi()
  const pod = { metadata: { generateName: 'x'.repeat(70) }, spec: POD }
  expect(valueAt(await api.make(PODS, pod), 'metadata', 'name')).toMatch(/^x{58}.{5}$/)
})

test('a taken generated name is replaced by another one', async () => {
  const rolls = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
  let uuids = 0
  const random = {
    uuid: () => `uid-${uuids++}`,
    below: (bound: number) => (rolls.shift() ?? 7) % bound,
  }
  const api = await startApi({ random })
  const pod = { metadata: { generateName: 'p-' }, spec: POD }
  expect(valueAt(await api.make(PODS, pod), 'metadata', 'name')).toBe('p-bbbbb')
  expect(valueAt(await api.make(PODS, pod), 'metadata', 'name')).toBe('p-bbbbc')
})

test('a missing namespace is 404 and a name is required', async () => {
  const api = await startApi()
  const missing = await api.call('POST', SERVICES.replace('default', 'nowhere'), {
    body: service('web'),
  })
  expect(missing.status).toBe(404)
  expect(missing.body['message']).toBe('namespaces "nowhere" not found')
  const nameless = await api.call('POST', SERVICES, { body: { ...service(''), metadata: {} } })
  expect(nameless.status).toBe(422)
  expect(valueAt(nameless.body, 'details', 'causes')).toMatchObject([
    { reason: 'FieldValueRequired', field: 'metadata.name' },
  ])
})

test.each([
  ['namespace', service('web', {}, { namespace: 'other' }), 'does not match the namespace'],
  ['resourceVersion', service('web', {}, { resourceVersion: '1' }), 'should not be set'],
  [
    'apiVersion',
    { ...service('web'), apiVersion: 'v2' },
    'does not match the expected API version (v1)',
  ],
  ['kind', { ...service('web'), kind: 'Pod' }, 'where a Service is expected'],
  ['body', [], 'must be a JSON object'],
])('a wrong %s is 400', async (_what, body, text) => {
  const api = await startApi()
  const answer = await api.call('POST', SERVICES, { body })
  expect(answer.status).toBe(400)
  expect(answer.body['reason']).toBe('BadRequest')
  expect(answer.body['message']).toContain(text)
})

test('everything that is wrong with an object is one 422 with a cause each', async () => {
  const api = await startApi()
  const body = service(
    'web',
    { ports: [{ port: 0 }, { port: 99_999, name: 'b' }] },
    { labels: { 'bad key!': 'x', ok: 'bad value!' } },
  )
  const answer = await api.call('POST', SERVICES, { body })
  expect(answer.status).toBe(422)
  expect(answer.body['message']).toMatch(/^Service "web" is invalid: \[/)
  const causes = valueAt(answer.body, 'details', 'causes')
  const fields = (causes as { field: string }[]).map((cause) => cause.field)
  expect(fields).toEqual(
    expect.arrayContaining(['metadata.labels', 'spec.ports[0].port', 'spec.ports[1].port']),
  )
  expect(await api.call('GET', `${SERVICES}/web`)).toMatchObject({ status: 404 })
})

test('dryRun=All answers like a create and stores nothing', async () => {
  const api = await startApi()
  const before = await api.store.revision()
  const body = service('web', { type: 'NodePort' })
  const answer = await api.call('POST', `${SERVICES}?dryRun=All`, { body })
  expect(answer.status).toBe(201)
  expect(valueAt(answer.body, 'spec', 'clusterIP')).toMatch(/^10\.96\./)
  expect(await api.store.revision()).toBe(before)
  expect((await api.call('POST', `${SERVICES}?dryRun=None`, { body })).status).toBe(400)
})

test('what a dry run answers can be created', async () => {
  const api = await startApi()
  const shown = await api.call('POST', `${SERVICES}?dryRun=All`, { body: service('web') })
  expect(shown.body['metadata']).not.toHaveProperty('resourceVersion')
  expect((await api.call('POST', SERVICES, { body: shown.body })).status).toBe(201)
  const zero = service('zero', {}, { resourceVersion: '0' })
  expect((await api.call('POST', SERVICES, { body: zero })).status).toBe(201)
})

test('the table of a dry run has no revision', async () => {
  const api = await startApi()
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const path = `${SERVICES}?dryRun=All`
  const { body, text } = await api.call('POST', path, { body: service('web'), headers })
  expect(body).toMatchObject({ kind: 'Table', rows: [{ object: { metadata: { name: 'web' } } }] })
  expect(text).not.toContain('resourceVersion')
})

test('a pod starts as Pending, an Endpoints object has no status', async () => {
  const api = await startApi()
  const pod = await api.make(PODS, {
    metadata: { name: 'p' },
    spec: POD,
    status: { phase: 'Running' },
  })
  expect(pod['status']).toEqual({ phase: 'Pending' })
  const subsets = [{ addresses: [{ ip: '10.1.0.1' }], ports: [{ port: 80 }] }]
  const endpoints = await api.make(ENDPOINTS, { metadata: { name: 'web' }, subsets })
  expect(Object.keys(endpoints).sort()).toEqual(['apiVersion', 'kind', 'metadata', 'subsets'])
})

test('null fields are absent fields', async () => {
  const api = await startApi()
  const body = service(
    'web',
    { externalName: null, ports: [{ port: 80, nodePort: null }] },
    { labels: null },
  )
  const made = await api.make(SERVICES, body)
  expect(JSON.stringify(made)).not.toContain('null')
})

test('annotations above 256 KiB together are 422', async () => {
  const api = await startApi()
  const annotations = Object.fromEntries(['a', 'b', 'c'].map((key) => [key, 'x'.repeat(90_000)]))
  const { status, body } = await api.call('POST', PODS, {
    body: { metadata: { name: 'p', annotations }, spec: POD },
  })
  expect([status, valueAt(body, 'details', 'causes')]).toMatchObject([
    422,
    [{ reason: 'FieldValueTooLong', field: 'metadata.annotations' }],
  ])
})

test('magic keys are data like any other', async () => {
  const api = await startApi()
  const body = `{"metadata":{"name":"p","annotations":{"constructor":"c","hasOwnProperty":"h"}},"spec":{"containers":[{"name":"main"}],"__proto__":{"polluted":true}}}`
  const answer = await api.call('POST', PODS, { body })
  expect(answer.status).toBe(201)
  expect((await api.call('GET', `${PODS}/p`)).text).toContain('"__proto__":{"polluted":true}')
  expect(valueAt({}, 'polluted')).toBeUndefined()
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('causes name duplicates and unsupported values in Kubernetes’ words', async () => {
  const api = await startApi()
  const port = { name: 'http', port: 80 }
  const spec = { type: 'Cluster', ports: [port, { ...port, port: 81 }] }
  const { body } = await api.call('POST', SERVICES, { body: service('web', spec) })
  expect(valueAt(body, 'details', 'causes')).toEqual([
    {
      reason: 'FieldValueNotSupported',
      field: 'spec.type',
      message:
        'Unsupported value: "Cluster": supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"',
    },
    {
      reason: 'FieldValueDuplicate',
      field: 'spec.ports[1].name',
      message: 'Duplicate value: "http"',
    },
  ])
})
