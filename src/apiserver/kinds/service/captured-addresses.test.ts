import { expect, test } from 'vitest'
import { type JsonObject, valueAt } from '../../../lib/json.ts'
import { SERVICES, service, startApi, type TestApi } from '../../testing/test-api.ts'

const RANGE = 'must not be in the range of ClusterIPs, 10.96.0.0/16'
const NODE = "must not be a node's own address"
const MERGE = { headers: { 'content-type': 'application/merge-patch+json' } }

async function withNode(): Promise<TestApi> {
  const api = await startApi()
  const addresses = [
    { type: 'InternalIP', address: '192.0.2.1' },
    { type: 'Hostname', address: 'n' },
  ]
  await api.make('/api/v1/nodes', { metadata: { name: 'n' }, status: { addresses } })
  await api.call('GET', '/api/v1/nodes')
  return api
}

function messageOf({ status, body }: { status: number; body: JsonObject }): unknown {
  return [status, valueAt(body, 'message')]
}

test.each([
  ['10.96.0.10', RANGE],
  ['10.96.0.0', RANGE],
  ['192.0.2.1', NODE],
  ['127.0.0.1', 'must not be unspecified, loopback'],
])('%s may not be an externalIP', async (ip, why) => {
  const api = await withNode()
  const body = service('x', { externalIPs: ['198.51.100.1', ip] })
  expect(messageOf(await api.call('POST', SERVICES, { body }))).toEqual([
    422,
    expect.stringContaining(`spec.externalIPs[1]: Invalid value: "${ip}": ${why}`),
  ])
})

test('an externalIP that became a node address later may stay, but not come anew', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('x', { externalIPs: ['192.0.2.1'] }))
  await api.make(SERVICES, service('y'))
  const addresses = [{ type: 'InternalIP', address: '192.0.2.1' }]
  await api.make('/api/v1/nodes', { metadata: { name: 'n' }, status: { addresses } })
  await api.call('GET', '/api/v1/nodes')
  const body = { metadata: { labels: { a: 'b' } }, spec: { externalIPs: ['192.0.2.1'] } }
  expect((await api.call('PATCH', `${SERVICES}/x`, { body, ...MERGE })).status).toBe(200)
  expect((await api.call('PATCH', `${SERVICES}/y`, { body, ...MERGE })).status).toBe(422)
})

test('a load balancer may have the address of a node, but no ClusterIP', async () => {
  const api = await withNode()
  await api.make(SERVICES, service('x', { type: 'LoadBalancer' }))
  const report = (ip: string) => {
    const body = { status: { loadBalancer: { ingress: [{ ip }] } } }
    return api.call('PATCH', `${SERVICES}/x/status`, { body, ...MERGE })
  }
  expect((await report('192.0.2.1')).status).toBe(200)
  expect(messageOf(await report('10.96.0.10'))).toEqual([422, expect.stringContaining(RANGE)])
})

test('only a request that newly sets externalIPs gets a warning', async () => {
  const api = await startApi()
  const made = await api.call('POST', SERVICES, {
    body: service('x', { externalIPs: ['192.0.2.1'] }),
  })
  const change = (body: JsonObject) => api.call('PATCH', `${SERVICES}/x`, { body, ...MERGE })
  const same = { spec: { externalIPs: ['192.0.2.1'] }, metadata: { labels: { a: 'b' } } }
  const more = { spec: { externalIPs: ['192.0.2.1', '192.0.2.2'] } }
  const fewer = { spec: { externalIPs: ['192.0.2.2'] } }
  const answers = [made, await change(same), await change(more), await change(fewer)]
  expect(answers.map(({ headers }) => headers['warning'])).toEqual([
    expect.stringMatching(
      /^299 - "spec\.externalIPs: .* use a Service of type LoadBalancer instead"$/,
    ),
    undefined,
    expect.stringContaining('spec.externalIPs'),
    undefined,
  ])
})
