import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { encodeStored } from '../encoding/codec.ts'
import { services } from '../kinds/service/resource.ts'
import { storageKey } from '../resource/resource.ts'
import {
  ENDPOINTS,
  POD,
  PODS,
  SERVICES,
  SLICES,
  service,
  startApi,
  type TestApi,
} from '../testing/test-api.ts'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const SERVICE = 'Service in version "v1" cannot be handled as a Service: '

function pod(spec: JsonObject, container: JsonObject = {}): JsonObject {
  const [main] = POD.containers
  return { metadata: { name: 'a' }, spec: { ...spec, containers: [{ ...main, ...container }] } }
}

test.each<[string, JsonObject, string]>([
  [
    SERVICES,
    service('a', { loadBalancerIP: 5 }),
    'spec.loadBalancerIP must be a string, not a number',
  ],
  [
    SERVICES,
    service('a', { ports: [{ port: 80, appProtocol: 5 }] }),
    'spec.ports[0].appProtocol must be a string',
  ],
  [
    SERVICES,
    service('a', { ports: [{ port: '80' }] }),
    'spec.ports[0].port must be an integer of 32 bits, not a string',
  ],
  [
    SERVICES,
    service('a', { allocateLoadBalancerNodePorts: 'yes' }),
    'must be a boolean, not a string',
  ],
  [SERVICES, service('', {}, { generateName: 7 }), 'metadata.generateName must be a string'],
  [
    SERVICES,
    { ...service('a'), status: { loadBalancer: [] } },
    'status.loadBalancer must be an object, not a list',
  ],
  [PODS, pod({ tolerations: 7 }), 'spec.tolerations must be a list, not a number'],
  [PODS, pod({}, { env: 'x' }), 'spec.containers[0].env must be a list, not a string'],
  [PODS, pod({}, { resources: { limits: { cpu: 'lots' } } }), 'limits.cpu must be a quantity'],
  [
    ENDPOINTS,
    { metadata: { name: 'a', ownerReferences: [5] } },
    'metadata.ownerReferences[0] must be an object',
  ],
  [
    ENDPOINTS,
    { metadata: { name: 'a' }, subsets: [{ addresses: [{ ip: '10.1.0.1', targetRef: 'x' }] }] },
    'subsets[0].addresses[0].targetRef must be an object',
  ],
  [
    SLICES.replace('v1', 'v1beta1'),
    {
      metadata: { name: 'a' },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.0.1'], topology: { a: 1 } }],
    },
    'endpoints[0].topology.a must be a string',
  ],
  [
    LEASES,
    { metadata: { name: 'a' }, spec: { renewTime: '2024-01-01T00:00:00Z' } },
    'spec.renewTime must be a time',
  ],
])('POST %s %j: %s', async (path, body, message) => {
  const api = await startApi()
  for (const mode of ['Ignore', 'Warn', 'Strict']) {
    const answer = await api.call('POST', `${path}?fieldValidation=${mode}`, { body })
    expect(answer).toMatchObject({ status: 400, body: { reason: 'BadRequest' } })
    expect(answer.body['message']).toContain(message)
  }
})

test.each<[string, string, string, JsonObject | readonly JsonObject[]]>([
  ['PUT', '', 'application/json', service('a', { externalName: { x: 1 } })],
  ['PUT', '/status', 'application/json', { ...service('a'), status: { loadBalancer: 1 } }],
  ['PATCH', '', 'application/merge-patch+json', { spec: { loadBalancerClass: [1] } }],
  ['PATCH', '/status', 'application/merge-patch+json', { status: { conditions: {} } }],
  ['PATCH', '', 'application/strategic-merge-patch+json', { spec: { selector: { a: 1 } } }],
  [
    'PATCH',
    '',
    'application/json-patch+json',
    [{ op: 'add', path: '/metadata/ownerReferences', value: 'x' }],
  ],
  ['PATCH', '?fieldManager=me', 'application/apply-patch+yaml', { spec: { loadBalancerIP: 5 } }],
])('%s of a Service%s as %s: %j is 400', async (method, rest, type, body) => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('a'))
  const headers = { 'content-type': type }
  const answer = await api.call(method, `${SERVICES}/a${rest}`, {
    body: body as JsonObject,
    headers,
  })
  expect(answer).toMatchObject({ status: 400 })
  expect(answer.body['message']).toMatch(
    /^Service in version "v1" cannot be handled as a Service: .* must be/,
  )
  expect((await api.call('GET', `${SERVICES}/a`)).body).toEqual(made)
})

test('at most ten faults are reported, and no unknown fields beside them', async () => {
  const api = await startApi()
  const externalIPs = Array.from({ length: 11 }, () => 1)
  const body = service('a', { foo: 1, externalIPs })
  const answer = await api.call('POST', `${SERVICES}?fieldValidation=Strict`, { body })
  const faults = externalIPs
    .slice(1)
    .map((_, index) => `spec.externalIPs[${index}] must be a string, not a number`)
  expect(answer.body['message']).toBe(SERVICE + faults.join(', '))
})

test('no refusal shows a value of a Secret', async () => {
  const api = await startApi()
  const body = { metadata: { name: 'a' }, data: { pin: 4711 } }
  const answer = await api.call('POST', '/api/v1/namespaces/default/secrets', { body })
  expect(answer.body['message']).toMatch(/data\.pin must be a base64 string, not a number$/)
})

/** A Service as a server without this rule would have stored it. */
async function storeOld(api: TestApi): Promise<void> {
  const made = await api.make(SERVICES, service('a'))
  const value = encodeStored({
    ...made,
    spec: { ...(made['spec'] as JsonObject), loadBalancerIP: 5 },
  })
  const key = storageKey(services, 'default', 'a')
  await api.store.txn({ compare: [], operations: [{ op: 'put', key, value }] })
}

test('what was stored before the rule is read, patched elsewhere and repaired', async () => {
  const api = await startApi()
  await storeOld(api)
  const merge = (body: JsonObject) =>
    api.call('PATCH', `${SERVICES}/a`, {
      body,
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  expect(await merge({ metadata: { labels: { a: 'b' } } })).toMatchObject({ status: 200 })
  expect(await merge({ spec: { externalName: 5 } })).toMatchObject({
    status: 400,
    body: { message: `${SERVICE}spec.externalName must be a string, not a number` },
  })
  const { body } = await api.call('GET', `${SERVICES}/a`)
  expect(body).toMatchObject({ metadata: { labels: { a: 'b' } }, spec: { loadBalancerIP: 5 } })
  expect(await api.call('PUT', `${SERVICES}/a`, { body })).toMatchObject({ status: 400 })
  const spec = { ...(body['spec'] as JsonObject), loadBalancerIP: '' }
  expect(await api.call('PUT', `${SERVICES}/a`, { body: { ...body, spec } })).toMatchObject({
    status: 200,
    body: { spec: { loadBalancerIP: '' } },
  })
})
