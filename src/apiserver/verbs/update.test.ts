import { expect, test } from 'vitest'
import { type JsonObject, objectAt, valueAt } from '../../lib/json.ts'
import { ENDPOINTS, POD, PODS, SERVICES, SLICES, service, startApi } from '../testing/test-api.ts'

function versionOf(object: JsonObject): unknown {
  return valueAt(object, 'metadata', 'resourceVersion')
}

test('an update with the current version replaces the object and keeps its identity', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web', {}, { labels: { a: '1' } }))
  const next = { ...made, metadata: { ...objectAt(made, 'metadata'), labels: { a: '2' } } }
  const answer = await api.call('PUT', `${SERVICES}/web`, { body: next })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({
    metadata: { labels: { a: '2' } },
    spec: made['spec'] as JsonObject,
  })
  expect(valueAt(answer.body, 'metadata', 'uid')).toBe(valueAt(made, 'metadata', 'uid'))
  expect(Number(versionOf(answer.body))).toBeGreaterThan(Number(versionOf(made)))
})

test('an update with an old version is 409 Conflict and changes nothing', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const labelled = { ...made, metadata: { ...objectAt(made, 'metadata'), labels: { a: '1' } } }
  await api.call('PUT', `${SERVICES}/web`, { body: labelled })
  const { status, body } = await api.call('PUT', `${SERVICES}/web`, { body: made })
  expect(status).toBe(409)
  expect(body).toMatchObject({
    reason: 'Conflict',
    message:
      'Operation cannot be fulfilled on services "web": the object has been modified; please apply your changes to the latest version and try again',
  })
  expect((await api.call('GET', `${SERVICES}/web`)).body).toMatchObject({
    metadata: { labels: { a: '1' } },
  })
})

test('of concurrent updates with one version exactly one wins', async () => {
  const api = await startApi()
  const made = await api.make(PODS, { metadata: { name: 'p' }, spec: POD })
  const put = (index: number) => {
    const metadata = { ...objectAt(made, 'metadata'), labels: { winner: String(index) } }
    return api.call('PUT', `${PODS}/p`, { body: { ...made, metadata } })
  }
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => put(index)))
  const codes = answers.map((answer) => answer.status)
  expect(codes.filter((code) => code === 200)).toHaveLength(1)
  expect(codes.filter((code) => code === 409)).toHaveLength(19)
})

test('writing what is already there takes no version', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const answer = await api.call('PUT', `${SERVICES}/web`, { body: made })
  expect(answer.status).toBe(200)
  expect(versionOf(answer.body)).toBe(versionOf(made))
})

test('a Service update without version is 422, an Endpoints update is unconditional', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const answer = await api.call('PUT', `${SERVICES}/web`, { body: service('web') })
  expect(answer.status).toBe(422)
  expect(answer.body['message']).toBe(
    'Service "web" is invalid: metadata.resourceVersion: Invalid value: "": must be specified for an update',
  )
  await api.make(ENDPOINTS, { metadata: { name: 'web' } })
  const subsets = [{ addresses: [{ ip: '10.1.0.1' }], ports: [{ port: 80 }] }]
  const body = { metadata: { name: 'web' }, subsets }
  expect((await api.call('PUT', `${ENDPOINTS}/web`, { body })).status).toBe(200)
})

test('the status of a Service is updated without a version, and so is a ServiceAccount', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web', { type: 'LoadBalancer' }))
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }
  const put = await api.call('PUT', `${SERVICES}/web/status`, {
    body: { ...service('web'), status },
  })
  expect(put).toMatchObject({ status: 200, body: { status } })
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  const body = { metadata: { name: 'robot' }, automountServiceAccountToken: false }
  await api.make(accounts, { metadata: { name: 'robot' } })
  expect(await api.call('PUT', `${accounts}/robot`, { body })).toMatchObject({ status: 200, body })
})

test('resourceVersion "0" is none', async () => {
  const api = await startApi()
  const metadata = { name: 'web', resourceVersion: '0' }
  const put = (path: string, body: JsonObject) => api.call('PUT', path, { body })
  expect((await put(`${ENDPOINTS}/web`, { metadata })).status).toBe(201)
  expect((await put(`${ENDPOINTS}/web`, { metadata })).status).toBe(200)
  await api.make(SERVICES, service('web'))
  expect((await put(`${SERVICES}/web`, service('web', {}, metadata))).status).toBe(422)
})

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

test('PUT creates a missing Lease, but does not replace one without its version', async () => {
  const api = await startApi()
  const body = { metadata: { name: 'lock' }, spec: { holderIdentity: 'a' } }
  expect((await api.call('PUT', `${LEASES}/lock`, { body })).status).toBe(201)
  expect((await api.call('PUT', `${LEASES}/lock`, { body })).status).toBe(422)
  expect((await api.call('PUT', `${SERVICES}/none`, { body: service('none') })).status).toBe(404)
})

test('PUT creates a missing Endpoints object, but no missing Service', async () => {
  const api = await startApi()
  const created = await api.call('PUT', `${ENDPOINTS}/web`, { body: { metadata: { name: 'web' } } })
  expect(created.status).toBe(201)
  const body = service('web', {}, { resourceVersion: '1' })
  const missing = await api.call('PUT', `${SERVICES}/web`, { body })
  expect(missing.status).toBe(404)
  expect(missing.body['message']).toBe('services "web" not found')
})

test('a name or uid of another object is refused', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const renamed = { ...made, metadata: { ...objectAt(made, 'metadata'), name: 'other' } }
  expect((await api.call('PUT', `${SERVICES}/web`, { body: renamed })).status).toBe(400)
  const reborn = { ...made, metadata: { ...objectAt(made, 'metadata'), uid: 'another' } }
  const answer = await api.call('PUT', `${SERVICES}/web`, { body: reborn })
  expect(answer.status).toBe(409)
  expect(answer.body['message']).toContain('Precondition failed: UID in precondition: another')
})

test('status is written through its subresource only, and nothing else is', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web', { type: 'LoadBalancer' }))
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }
  const main = await api.call('PUT', `${SERVICES}/web`, { body: { ...made, status } })
  expect(main.body['status']).toEqual({ loadBalancer: {} })
  const spec = { ...objectAt(main.body, 'spec'), sessionAffinity: 'ClientIP' }
  const sub = await api.call('PUT', `${SERVICES}/web/status`, {
    body: { ...main.body, spec, status },
  })
  expect(sub.status).toBe(200)
  expect(sub.body['status']).toEqual(status)
  expect(sub.body['spec']).toEqual(made['spec'])
  expect((await api.call('GET', `${SERVICES}/web/status`)).body).toEqual(sub.body)
})

test('a node registers with its status, and an Endpoints object has no status path', async () => {
  const api = await startApi()
  const status = { addresses: [{ type: 'InternalIP', address: '192.0.2.7' }] }
  expect((await api.make('/api/v1/nodes', { metadata: { name: 'n1' }, status }))['status']).toEqual(
    status,
  )
  expect((await api.call('GET', `${ENDPOINTS}/web/status`)).status).toBe(404)
})

test('a slice counts the generations of its content', async () => {
  const api = await startApi()
  const slice = {
    metadata: { name: 's' },
    addressType: 'IPv4',
    endpoints: [],
    ports: [{ port: 80 }],
  }
  const made = await api.make(SLICES, slice)
  expect(valueAt(made, 'metadata', 'generation')).toBe(1)
  const changed = await api.call('PUT', `${SLICES}/s`, { body: { ...made, ports: [{ port: 81 }] } })
  expect(valueAt(changed.body, 'metadata', 'generation')).toBe(2)
  const metadata = { ...objectAt(changed.body, 'metadata'), labels: { a: 'b' } }
  const labelled = await api.call('PUT', `${SLICES}/s`, { body: { ...changed.body, metadata } })
  expect(valueAt(labelled.body, 'metadata', 'generation')).toBe(2)
})

test('dryRun=All shows the result of an update and stores nothing', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const next = { ...made, metadata: { ...objectAt(made, 'metadata'), labels: { a: '1' } } }
  const answer = await api.call('PUT', `${SERVICES}/web?dryRun=All`, { body: next })
  expect(answer.body).toMatchObject({ metadata: { labels: { a: '1' } } })
  expect((await api.call('GET', `${SERVICES}/web`)).body).toEqual(made)
})
