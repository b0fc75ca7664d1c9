import { expect, test } from 'vitest'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  valueAt,
} from '../../../lib/json.ts'
import { systemRandom } from '../../../lib/random.ts'
import { type Answer, SERVICES, service, startApi, type TestApi } from '../../testing/test-api.ts'

const NUMBER = expect.any(Number) as number

function patch(api: TestApi, body: Json, type = 'merge-patch'): Promise<Answer> {
  const headers = { 'content-type': `application/${type}+json` }
  return api.call('PATCH', `${SERVICES}/web`, { body, headers })
}

/** The node ports of an accepted Service by the names of its ports. */
function numbersOf({ status, text, body }: Answer): JsonObject {
  expect([status, text]).toEqual([200, text])
  const ports = arrayAt(body, 'spec', 'ports').map((port) => objectAt(port))
  return Object.fromEntries(ports.map(({ name, nodePort }) => [scalarText(name), nodePort ?? null]))
}

function withPorts(...ports: JsonObject[]): JsonObject {
  return service('web', { type: 'NodePort', ports })
}

const A = { name: 'a', port: 80, nodePort: 30_080 }
const RELEASED = { name: 'a', port: 80, nodePort: null }
const B = { name: 'b', port: 81, nodePort: 30_080 }

test.each([
  ['merge-patch', [RELEASED, B]],
  ['merge-patch', [B, RELEASED]],
  ['strategic-merge-patch', [RELEASED, B]],
  ['strategic-merge-patch', [B, RELEASED]],
])('a number moves to the port that requests it (%s, %j)', async (type, ports) => {
  const api = await startApi()
  await api.make(SERVICES, withPorts(A))
  const numbers = numbersOf(await patch(api, { spec: { ports } }, type))
  expect(numbers).toEqual({ a: NUMBER, b: 30_080 })
  expect(numbers['a']).not.toBe(30_080)
})

const BALANCED = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }

test('no number is chosen that another port, or the health check, requests', async () => {
  const random = { ...systemRandom, below: () => 0 }
  const api = await startApi({ nodePortRange: { first: 3000, last: 3002 }, random })
  const ports = [
    { name: 'a', port: 80 },
    { name: 'b', port: 81, nodePort: 3000 },
  ]
  for (const requested of [{}, { healthCheckNodePort: 3001 }, { healthCheckNodePort: 3002 }]) {
    const made = objectAt(
      await api.make(SERVICES, service('web', { ...BALANCED, ...requested, ports })),
      'spec',
    )
    const [first, second] = arrayAt(made, 'ports').map((port) => valueAt(port, 'nodePort'))
    expect(second).toBe(3000)
    expect(new Set([first, made['healthCheckNodePort']])).toEqual(new Set([3001, 3002]))
    expect(made).toMatchObject(requested)
    await api.call('DELETE', `${SERVICES}/web`)
  }
  const spec = { ...BALANCED, healthCheckNodePort: 3000, ports }
  const answer = await api.call('POST', SERVICES, { body: service('web', spec) })
  expect([answer.status, answer.body['message']]).toEqual([
    422,
    expect.stringContaining('spec.healthCheckNodePort: Invalid value: 3000: provided port is'),
  ])
})

test('a port keeps its number under its name, else under its number', async () => {
  const api = await startApi()
  await api.make(SERVICES, withPorts(A))
  const put = numbersOf(await patch(api, { spec: { ports: [{ name: 'a', port: 81 }] } }))
  expect(put).toEqual({ a: 30_080 })
  const applied = [
    { name: 'a', port: 8080 },
    { $patch: 'delete', port: 81 },
  ]
  const moved = await patch(api, { spec: { ports: applied } }, 'strategic-merge-patch')
  expect(numbersOf(moved)).toEqual({ a: 30_080 })
  const renamed = await patch(api, { spec: { ports: [{ name: 'c', port: 8080 }] } })
  expect(numbersOf(renamed)).toEqual({ c: 30_080 })
  const ports = [
    { name: 'd', port: 8080 },
    { name: 'c', port: 82 },
  ]
  const swapped = numbersOf(await patch(api, { spec: { ports } }))
  expect(swapped).toEqual({ c: 30_080, d: NUMBER })
})

test('a port of another protocol keeps its number only while no other port has it', async () => {
  const api = await startApi()
  await api.make(SERVICES, withPorts(A))
  const become = async (protocol: string): Promise<unknown> => {
    const ports = [{ name: 'a', port: 80, protocol }]
    return numbersOf(await patch(api, { spec: { ports } }))['a']
  }
  expect(await become('UDP')).toBe(30_080)
  await api.make(SERVICES, { ...withPorts(A), metadata: { name: 'other' } })
  expect(await become('TCP')).not.toBe(30_080)
})

test('a load balancer that wants no node ports can give them back', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web', { type: 'LoadBalancer', ports: [A] }))
  const unwanted = { spec: { allocateLoadBalancerNodePorts: false } }
  expect(numbersOf(await patch(api, unwanted))).toEqual({ a: 30_080 })
  const removal = [{ op: 'remove', path: '/spec/ports/0/nodePort' }]
  expect(numbersOf(await patch(api, removal, 'json-patch'))).toEqual({ a: null })
  await api.make(SERVICES, { ...withPorts(A), metadata: { name: 'other' } })
})
