import { expect, test } from 'vitest'
import { type JsonObject, objectAt, valueAt } from '../../../lib/json.ts'
import { SERVICES, service, startApi } from '../../testing/test-api.ts'
import { dropTypeFields } from './service-allocator.ts'

const LOCAL = { externalTrafficPolicy: 'Local' }
const BALANCED = {
  type: 'LoadBalancer',
  ...LOCAL,
  healthCheckNodePort: 30_001,
  allocateLoadBalancerNodePorts: true,
  loadBalancerClass: 'x.io/y',
  loadBalancerSourceRanges: ['192.0.2.0/24'],
}

test.each<[JsonObject, JsonObject]>([
  [BALANCED, BALANCED],
  [
    { ...BALANCED, type: 'NodePort' },
    { type: 'NodePort', ...LOCAL },
  ],
  [{ ...BALANCED, type: 'ClusterIP' }, { type: 'ClusterIP' }],
  [
    { ...BALANCED, type: 'ClusterIP', externalIPs: ['192.0.2.1'] },
    { type: 'ClusterIP', externalIPs: ['192.0.2.1'], ...LOCAL },
  ],
  [{ ...BALANCED, type: 'ExternalName' }, { type: 'ExternalName' }],
])('a load balancer that becomes %j is left as %j', (next, expected) => {
  expect(dropTypeFields({ spec: next }, { spec: BALANCED })).toEqual({ spec: expected })
})

test.each<[JsonObject, string]>([
  [{ type: 'ClusterIP', ...LOCAL }, 'spec.externalTrafficPolicy'],
  [{ type: 'NodePort', ...LOCAL, healthCheckNodePort: 1 }, 'spec.healthCheckNodePort'],
  [{ type: 'LoadBalancer', healthCheckNodePort: 1 }, 'spec.healthCheckNodePort'],
  [{ type: 'NodePort', loadBalancerClass: 'x' }, 'spec.loadBalancerClass'],
  [{ type: 'ClusterIP', loadBalancerSourceRanges: ['::/0'] }, 'spec.loadBalancerSourceRanges'],
  [
    { type: 'NodePort', allocateLoadBalancerNodePorts: false },
    'spec.allocateLoadBalancerNodePorts',
  ],
])('a new Service may not be %j', (spec, field) => {
  expect(dropTypeFields({ spec }, undefined)).toMatchObject({ cause: { field } })
})

test('an empty value requests nothing', () => {
  const none = { externalTrafficPolicy: '', healthCheckNodePort: 0, loadBalancerSourceRanges: [] }
  const spec = { type: 'ClusterIP', ...none }
  expect(dropTypeFields({ spec }, undefined)).toEqual({ spec })
})

test('an external name goes with the type, and any Service may be given one', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web', { type: 'ExternalName', externalName: 'a.example' }))
  const headers = { 'content-type': 'application/merge-patch+json' }
  const change = async (spec: JsonObject): Promise<unknown> => {
    const { body } = await api.call('PATCH', `${SERVICES}/web`, { body: { spec }, headers })
    return valueAt(body, 'spec', 'externalName')
  }
  expect(await change({ type: 'ClusterIP' })).toBeUndefined()
  expect(await change({ externalName: 'b.example' })).toBe('b.example')
  expect(await change({ sessionAffinity: 'ClientIP' })).toBe('b.example')
})

test('source ranges are of load balancers alone, and go with the type', async () => {
  const api = await startApi()
  const ranges = { loadBalancerSourceRanges: ['10.0.0.0/8'] }
  const answer = await api.call('POST', SERVICES, { body: service('web', ranges) })
  expect([answer.status, answer.body['message']]).toEqual([
    422,
    'Service "web" is invalid: spec.loadBalancerSourceRanges: Forbidden: may only be used when `type` is \'LoadBalancer\'',
  ])
  const made = await api.make(SERVICES, service('web', { type: 'LoadBalancer', ...ranges }))
  const spec = { ...objectAt(made, 'spec'), type: 'ClusterIP' }
  const put = await api.call('PUT', `${SERVICES}/web`, { body: { ...made, spec } })
  expect(put.status).toBe(200)
  expect(put.body).not.toHaveProperty('spec.loadBalancerSourceRanges')
})

test.each(['service.beta.kubernetes.io', 'service.beta.orch.io'])(
  'so is the annotation of %s',
  async (prefix) => {
    const api = await startApi()
    const key = `${prefix}/load-balancer-source-ranges`
    const metadata = { annotations: { [key]: '10.0.0.0/8' } }
    const { status, body } = await api.call('POST', SERVICES, {
      body: service('web', {}, metadata),
    })
    expect([status, valueAt(body, 'details', 'causes')]).toEqual([
      422,
      [
        {
          reason: 'FieldValueForbidden',
          message: "Forbidden: may only be used when `type` is 'LoadBalancer'",
          field: `metadata.annotations[${key}]`,
        },
      ],
    ])
    await api.make(SERVICES, service('web', { type: 'LoadBalancer' }, metadata))
    const headers = { 'content-type': 'application/merge-patch+json' }
    const change = async (patch: JsonObject): Promise<number> =>
      (await api.call('PATCH', `${SERVICES}/web`, { body: patch, headers })).status
    const spec = { type: 'ClusterIP' }
    expect(await change({ spec })).toBe(422)
    expect(await change({ spec, metadata: { annotations: null } })).toBe(200)
  },
)

test('a change of type through all types leaves nothing of the one before', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web', { type: 'LoadBalancer', ...LOCAL }))
  let { body } = { body: made }
  const become = async (spec: JsonObject): Promise<JsonObject> => {
    const next = { ...body, spec: { ...objectAt(body, 'spec'), ...spec } }
    const answer = await api.call('PUT', `${SERVICES}/web`, { body: next })
    expect([answer.status, answer.text]).toEqual([200, answer.text])
    body = answer.body
    return objectAt(body, 'spec')
  }
  const OF_BALANCER = ['healthCheckNodePort', 'allocateLoadBalancerNodePorts']
  const node = await become({ type: 'NodePort' })
  for (const field of OF_BALANCER) expect(node).not.toHaveProperty(field)
  expect(node).toMatchObject({ ...LOCAL, ports: [{ nodePort: expect.any(Number) as number }] })
  const cluster = await become({ type: 'ClusterIP' })
  expect(cluster).not.toHaveProperty('externalTrafficPolicy')
  expect(cluster).not.toHaveProperty('ports.0.nodePort')
  const outside = await become({ type: 'ExternalName', externalName: 'db.example.com' })
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
    expect(outside).not.toHaveProperty(field)
  }
})

test.each(['None', '10.96.0.10'])(
  'an ExternalName Service may not request clusterIP %s',
  async (ip) => {
    const api = await startApi()
    const body = service('web', { type: 'ExternalName', externalName: 'a.example', clusterIP: ip })
    const answer = await api.call('POST', SERVICES, { body })
    expect([answer.status, answer.body['message']]).toEqual([
      422,
      expect.stringContaining('may not be set for a Service of type ExternalName'),
    ])
  },
)
