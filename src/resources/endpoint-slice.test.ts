import { describe, expect, test } from 'vitest'
import { decodeEndpointSlice } from './endpoint-slice.ts'
import type { Raw } from './reader.ts'
import { placesOf, problemsOf, rawSlice, sound, valueOf } from './testing/raw-objects.ts'
import type { Endpoint } from './types.ts'

const READY = {
  nodeName: '',
  ready: true,
  serving: true,
  terminating: false,
  zoneHints: undefined,
  nodeHints: undefined,
  weight: 1,
} as const

function endpointsOf(raw: Raw): readonly Endpoint[] {
  return sound(decodeEndpointSlice(raw))?.groups[0]?.endpoints ?? []
}

function endpointOf(endpoint: Raw): Endpoint | undefined {
  return endpointsOf(rawSlice({ endpoints: [{ addresses: ['10.0.0.1'], ...endpoint }] }))[0]
}

test('projects a slice to what a node needs', () => {
  const annotations = {
    'endpoints.kubernetes.io/last-change-trigger-time': '2030-01-02T03:04:05Z',
  }
  const labels = { 'kubernetes.io/service-name': 'cart' }
  expect(sound(decodeEndpointSlice(rawSlice({ metadata: { annotations, labels } })))).toEqual({
    name: 'shop/cart-x7k2p',
    service: 'shop/cart',
    groups: [
      {
        family: 4,
        ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
        endpoints: [{ ip: '10.0.0.1', ...READY }],
      },
    ],
    triggeredAt: Date.UTC(2030, 0, 2, 3, 4, 5),
  })
})

describe('conditions', () => {
  test.each<[Raw | undefined, readonly [boolean, boolean, boolean]]>([
    [undefined, [true, true, false]],
    [{}, [true, true, false]],
    [{ ready: null, serving: null, terminating: null }, [true, true, false]],
    [{ ready: true }, [true, true, false]],
    [{ ready: false }, [false, false, false]],
    [{ ready: false, serving: true, terminating: true }, [false, true, true]],
    [{ ready: true, serving: false }, [true, false, false]],
    [{ serving: false }, [true, false, false]],
    [{ terminating: true }, [true, true, true]],
  ])('%j is [ready, serving, terminating] %j', (conditions, expected) => {
    const endpoint = endpointOf({ conditions })
    expect([endpoint?.ready, endpoint?.serving, endpoint?.terminating]).toEqual(expected)
  })

  test.each<[unknown, string]>([
    [{ ready: 'false' }, 'endpoints[0].conditions.ready "false"'],
    [{ serving: 0 }, 'endpoints[0].conditions.serving 0'],
    [{ terminating: {} }, 'endpoints[0].conditions.terminating {}'],
    ['ready', 'endpoints[0].conditions "ready"'],
    [[], 'endpoints[0].conditions []'],
  ])('%j gets no traffic', (conditions, place) => {
    const endpoints = [{ addresses: ['10.0.0.1'], conditions }, { addresses: ['10.0.0.2'] }]
    const decoded = decodeEndpointSlice(rawSlice({ endpoints }))
    expect(valueOf(decoded)?.groups[0]?.endpoints.map(({ ip }) => ip)).toEqual(['10.0.0.2'])
    expect(placesOf(problemsOf(decoded))).toEqual([place])
  })
})

test.each<[Raw, Partial<Endpoint>]>([
  [{ nodeName: 'node-1' }, { nodeName: 'node-1' }],
  [{ topology: { 'kubernetes.io/hostname': 'node-2' } }, { nodeName: 'node-2' }],
  [
    { nodeName: 'node-1', topology: { 'kubernetes.io/hostname': 'node-2' } },
    { nodeName: 'node-1' },
  ],
  [{ hints: { forZones: [{ name: 'a' }, { name: 'b' }] } }, { zoneHints: ['a', 'b'] }],
  [{ hints: { forNodes: [{ name: 'n' }] } }, { nodeHints: ['n'], zoneHints: undefined }],
  [{ hints: { forZones: [] } }, { zoneHints: undefined }],
  [{ addresses: ['10.0.0.1', '10.0.0.2'] }, { ip: '10.0.0.1' as Endpoint['ip'] }],
])('%j', (endpoint, expected) => {
  expect(endpointOf(endpoint)).toMatchObject(expected)
})

describe('an endpoint that is wrong costs only itself', () => {
  test.each<[unknown, string]>([
    [{ addresses: ['10.0.0.1.'] }, 'endpoints[1].addresses[0] "10.0.0.1."'],
    [{ addresses: ['127.0.0.1'] }, 'endpoints[1].addresses[0] "127.0.0.1"'],
    [{ addresses: ['169.254.169.254'] }, 'endpoints[1].addresses[0] "169.254.169.254"'],
    [{ addresses: ['::ffff:127.0.0.1'] }, 'endpoints[1].addresses[0] "::ffff:127.0.0.1"'],
    [{ addresses: ['fd00::1'] }, 'endpoints[1].addresses[0] "fd00::1"'],
    [{ addresses: [] }, 'endpoints[1].addresses[0] (absent)'],
    [{}, 'endpoints[1].addresses[0] (absent)'],
    [{ addresses: [null] }, 'endpoints[1].addresses[0] null'],
    [null, 'endpoints[1] null'],
    ['10.0.0.2', 'endpoints[1] "10.0.0.2"'],
  ])('%j', (endpoint, place) => {
    const endpoints = [{ addresses: ['10.0.0.1'] }, endpoint, { addresses: ['10.0.0.3'] }]
    const decoded = decodeEndpointSlice(rawSlice({ endpoints }))
    const ips = valueOf(decoded)?.groups[0]?.endpoints.map(({ ip }) => ip)
    expect(ips).toEqual(['10.0.0.1', '10.0.0.3'])
    expect(placesOf(problemsOf(decoded))).toEqual([place])
  })

  test.each<[Raw, string]>([
    [{ nodeName: 'x'.repeat(254) }, 'endpoints[0].nodeName'],
    [{ nodeName: 7 }, 'endpoints[0].nodeName'],
    [{ hints: { forZones: [{ name: 7 }] } }, 'endpoints[0].hints.forZones[0].name'],
    [{ hints: 'x' }, 'endpoints[0].hints'],
    [{ hints: { forZones: 'x' } }, 'endpoints[0].hints.forZones'],
  ])('a flaw in %j costs only the field', (endpoint, field) => {
    const raw = rawSlice({ endpoints: [{ addresses: ['10.0.0.1'], ...endpoint }] })
    const decoded = decodeEndpointSlice(raw)
    expect(valueOf(decoded)?.groups[0]?.endpoints).toEqual([{ ip: '10.0.0.1', ...READY }])
    expect(problemsOf(decoded).map((problem) => problem.field)).toEqual([field])
  })
})

describe('ports', () => {
  test.each<[unknown, readonly unknown[], number]>([
    [[{ port: 53, protocol: 'UDP' }], [{ name: '', protocol: 'UDP', port: 53 }], 0],
    [[{ name: null, port: 1 }], [{ name: '', protocol: 'TCP', port: 1 }], 0],
    [[{ name: 'any' }, { name: 'any', port: null }], [], 0],
    [undefined, [], 0],
    [[{ port: 0 }, { port: 2 }], [{ name: '', protocol: 'TCP', port: 2 }], 1],
    [[{ port: 1, protocol: 'ICMP' }], [], 1],
    [[{ port: 1, name: 'a b' }], [], 1],
    ['x', [], 1],
  ])('%j', (given, ports, warnings) => {
    const decoded = decodeEndpointSlice(rawSlice({ ports: given }))
    expect(valueOf(decoded)?.groups[0]?.ports).toEqual(ports)
    expect(problemsOf(decoded)).toHaveLength(warnings)
  })
})

describe('slices that are not for proxies', () => {
  test.each<[string, Raw]>([
    ['of no Service', rawSlice({ metadata: { labels: {} } })],
    ['without labels', rawSlice({ metadata: { labels: undefined } })],
    ['of host names', rawSlice({ addressType: 'FQDN', endpoints: [{ addresses: ['a.b'] }] })],
    ['headless', labelled({ 'service.kubernetes.io/headless': '' })],
    ['headless of our brand', labelled({ 'service.orch.io/headless': 'true' })],
  ])('%s', (_, raw) => {
    expect(sound(decodeEndpointSlice(raw))).toBeUndefined()
  })

  test.each<[Raw, string]>([
    [rawSlice({ addressType: undefined }), 'addressType (absent)'],
    [rawSlice({ addressType: 'IPv5' }), 'addressType "IPv5"'],
    [
      labelled({ 'kubernetes.io/service-name': 'a/b' }),
      'metadata.labels[kubernetes.io/service-name] "a/b"',
    ],
    [
      labelled({ 'kubernetes.io/service-name': 7 }),
      'metadata.labels[kubernetes.io/service-name] 7',
    ],
    [rawSlice({ metadata: { name: '../x' } }), 'metadata.name "../x"'],
    [rawSlice({ metadata: { namespace: 'a.b' } }), 'metadata.namespace "a.b"'],
  ])('%# cannot be used', (raw, place) => {
    const decoded = decodeEndpointSlice(raw)
    expect([decoded.ok, placesOf(problemsOf(decoded))]).toEqual([false, [place]])
  })

  test.each(['service.kubernetes.io/headless', 'service.orch.io/headless'])(
    'of a headless Service (%s), where those are included',
    (label) => {
      const decoded = decodeEndpointSlice(labelled({ [label]: '' }), { includeHeadless: true })
      expect(sound(decoded)?.service).toBe('shop/cart')
    },
  )

  function labelled(labels: Raw): Raw {
    return rawSlice({ metadata: { labels: { 'kubernetes.io/service-name': 'cart', ...labels } } })
  }
})

test('the Service may be named by either label', () => {
  const raw = rawSlice({ metadata: { labels: { 'orch.io/service-name': 'other' } } })
  expect(sound(decodeEndpointSlice(raw))?.service).toBe('shop/other')
})

test('v1beta1 wrote IP for IPv4, and IPv6 slices hold IPv6 addresses', () => {
  expect(sound(decodeEndpointSlice(rawSlice({ addressType: 'IP' })))?.groups[0]?.family).toBe(4)
  const raw = rawSlice({ addressType: 'IPv6', endpoints: [{ addresses: ['FD00::0:1'] }] })
  expect(endpointsOf(raw)).toEqual([{ ip: 'fd00::1', ...READY }])
})

test.each<[string, number | undefined]>([
  ['2030-01-02T03:04:05.123456789Z', Date.UTC(2030, 0, 2, 3, 4, 5, 123)],
  ['2030-01-02T05:04:05+02:00', Date.UTC(2030, 0, 2, 3, 4, 5)],
  ['2030-01-02', undefined],
  ['1', undefined],
  ['2030-13-02T03:04:05Z', undefined],
  ['', undefined],
])('the change of %j happened at %j', (text, time) => {
  const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': text }
  const labels = { 'kubernetes.io/service-name': 'cart' }
  const value = sound(decodeEndpointSlice(rawSlice({ metadata: { annotations, labels } })))
  expect(value?.triggeredAt).toBe(time)
})

describe('weights', () => {
  const labels = { 'kubernetes.io/service-name': 'cart' }
  const endpoints = [{ addresses: ['10.0.0.1'] }, { addresses: ['10.0.0.2'] }]

  test.each<[unknown, readonly number[], number]>([
    ['5', [5, 5], 0],
    ['0', [0, 0], 0],
    ['65535', [65_535, 65_535], 0],
    ['{"10.0.0.1": 3}', [3, 1], 0],
    ['{"10.0.0.1": 3, "10.0.0.2": 0}', [3, 0], 0],
    ['{}', [1, 1], 0],
    ['{"10.0.0.1": 3, "010.0.0.2": 7}', [3, 7], 1],
    ['{"10.0.0.1": 3, "10.0.0.2.": 7}', [3, 1], 1],
    ['{"10.0.0.1": -1, "10.0.0.2": 70000}', [1, 1], 1],
    ['{"__proto__": 7, "constructor": 7}', [1, 1], 1],
    ['65536', [1, 1], 1],
    ['-1', [1, 1], 1],
    ['1.5', [1, 1], 1],
    ['"5"', [1, 1], 1],
    ['five', [1, 1], 1],
    ['[5]', [1, 1], 1],
    ['', [1, 1], 1],
    [5, [1, 1], 1],
  ])('%j', (weight, weights, warnings) => {
    const annotations = { 'service.orch.io/weight': weight }
    const decoded = decodeEndpointSlice(rawSlice({ metadata: { labels, annotations }, endpoints }))
    const found = valueOf(decoded)?.groups[0]?.endpoints.map((endpoint) => endpoint.weight)
    expect([found, problemsOf(decoded).length]).toEqual([weights, warnings])
  })

  test('an IPv6 address may be written in any form', () => {
    const annotations = { 'service.orch.io/weight': '{"FD00:0::1": 4}' }
    const metadata = { labels, annotations }
    const slice = { metadata, addressType: 'IPv6', endpoints: [{ addresses: ['fd00::0001'] }] }
    expect(endpointsOf(rawSlice(slice))[0]?.weight).toBe(4)
  })
})

describe('the hostname of an endpoint', () => {
  test.each([
    ['db-0', 'db-0'],
    [undefined, undefined],
    ['', undefined],
  ])('%j is %j', (hostname, expected) => {
    expect(endpointOf({ hostname })?.hostname).toBe(expected)
  })

  test.each(['DB-0', 'a.b', 7])('%j is left out', (hostname) => {
    expect(endpointOf({ hostname })).toEqual({ ip: '10.0.0.1', ...READY })
  })
})
