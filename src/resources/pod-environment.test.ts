import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { podEnvironment } from './pod-environment.ts'

function variables(services: readonly JsonObject[], spec: JsonObject = {}): readonly string[] {
  const steps = podEnvironment({ metadata: { namespace: 'shop' }, spec }, services)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value.map(({ name, value }) => `${name}=${value}`)
}

function named(name: string, namespace: string, spec: JsonObject = {}): JsonObject {
  const address = { clusterIP: '10.96.0.10', ports: [{ port: 443 }] }
  return { metadata: { name, namespace }, spec: { ...address, ...spec } }
}

test('the table of the specification, in the order of Kubernetes', () => {
  const ports = [
    { name: 'my-http', port: 80 },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ]
  expect(variables([named('my-web', 'shop', { ports })])).toEqual([
    'MY_WEB_SERVICE_HOST=10.96.0.10',
    'MY_WEB_SERVICE_PORT=80',
    'MY_WEB_SERVICE_PORT_MY_HTTP=80',
    'MY_WEB_SERVICE_PORT_DNS=53',
    'MY_WEB_PORT=tcp://10.96.0.10:80',
    'MY_WEB_PORT_80_TCP=tcp://10.96.0.10:80',
    'MY_WEB_PORT_80_TCP_PROTO=tcp',
    'MY_WEB_PORT_80_TCP_PORT=80',
    'MY_WEB_PORT_80_TCP_ADDR=10.96.0.10',
    'MY_WEB_PORT_53_UDP=udp://10.96.0.10:53',
    'MY_WEB_PORT_53_UDP_PROTO=udp',
    'MY_WEB_PORT_53_UDP_PORT=53',
    'MY_WEB_PORT_53_UDP_ADDR=10.96.0.10',
  ])
})

test('no program gets an address with leading zeros', () => {
  const found = variables([named('web', 'shop', { clusterIP: '010.96.0.10' })])
  expect(found).toContain('WEB_SERVICE_HOST=10.96.0.10')
  expect(found.filter((line) => line.includes('010.'))).toEqual([])
})

test('IPv6 is in brackets in URLs only', () => {
  const found = variables([named('web', 'shop', { clusterIP: 'fd00::a' })])
  expect(found).toContain('WEB_SERVICE_HOST=fd00::a')
  expect(found).toContain('WEB_PORT=tcp://[fd00::a]:443')
  expect(found).toContain('WEB_PORT_443_TCP_ADDR=fd00::a')
})

const HOSTS = /_SERVICE_HOST=/

test.each<[string, readonly JsonObject[], JsonObject, readonly string[]]>([
  ['headless', [named('web', 'shop', { clusterIP: 'None' })], {}, []],
  ['without an address', [named('web', 'shop', { clusterIP: '' })], {}, []],
  ['that are a name', [named('web', 'shop', { type: 'ExternalName' })], {}, []],
  ['of another namespace', [named('web', 'other')], {}, []],
  ['by name', [named('b', 'shop'), named('a', 'shop')], {}, ['A', 'B']],
  [
    'of the API server',
    [named('kubernetes', 'default'), named('orch', 'default')],
    {},
    ['KUBERNETES', 'ORCH'],
  ],
  ['called like the API server elsewhere', [named('kubernetes', 'other')], {}, []],
  [
    'declined',
    [named('web', 'shop'), named('orch', 'default')],
    { enableServiceLinks: false },
    ['ORCH'],
  ],
])('Services %s', (_, services, spec, expected) => {
  const hosts = variables(services, spec).filter((one) => HOSTS.test(one))
  expect(hosts.map((one) => one.replace(/_SERVICE_HOST=.*/, ''))).toEqual(expected)
})

test.each([[[0, 1]], [[1, 0]]])(
  'one’s own Service hides the API server’s, in order %j',
  (order) => {
    const own = named('orch', 'shop', { clusterIP: '10.96.0.99' })
    const both = [own, named('orch', 'default')]
    expect(variables(order.map((index) => both[index] ?? {}))[0]).toBe(
      'ORCH_SERVICE_HOST=10.96.0.99',
    )
  },
)

test('of two variables with one name the later counts', () => {
  const ports = [{ name: 'a', port: 1 }]
  const found = variables([
    named('web', 'shop', { ports }),
    named('web-service', 'shop', { clusterIP: '10.96.0.2' }),
  ])
  expect(new Set(found.map((one) => one.split('=')[0])).size).toBe(found.length)
})
