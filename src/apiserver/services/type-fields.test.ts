import { expect, test } from 'vitest'
import { type JsonObject, objectAt } from '../../lib/json.ts'
import { SERVICES, service, startApi } from '../test-api.ts'
import { dropTypeFields } from './type-fields.ts'

const LOCAL = { externalTrafficPolicy: 'Local' }
const BALANCED = {
  type: 'LoadBalancer',
  ...LOCAL,
  healthCheckNodePort: 30_001,
  allocateLoadBalancerNodePorts: true,
  loadBalancerClass: 'x.io/y',
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
  expect(dropTypeFields(next, BALANCED)).toEqual({ spec: expected })
})

test.each<[JsonObject, string]>([
  [{ type: 'ClusterIP', ...LOCAL }, 'spec.externalTrafficPolicy'],
  [{ type: 'NodePort', ...LOCAL, healthCheckNodePort: 1 }, 'spec.healthCheckNodePort'],
  [{ type: 'LoadBalancer', healthCheckNodePort: 1 }, 'spec.healthCheckNodePort'],
  [{ type: 'NodePort', loadBalancerClass: 'x' }, 'spec.loadBalancerClass'],
  [
    { type: 'NodePort', allocateLoadBalancerNodePorts: false },
    'spec.allocateLoadBalancerNodePorts',
  ],
])('a new Service may not be %j', (spec, field) => {
  expect(dropTypeFields(spec, {})).toMatchObject({ cause: { field } })
})

test('an empty value asks for nothing', () => {
  const spec = { type: 'ClusterIP', externalTrafficPolicy: '', healthCheckNodePort: 0 }
  expect(dropTypeFields(spec, {})).toEqual({ spec })
})

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
  'an ExternalName Service may not ask for clusterIP %s',
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
