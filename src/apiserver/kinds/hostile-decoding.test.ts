import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseCidr, parseIp } from '../../lib/ip.ts'
import { isSpecialAddress } from '../../lib/special-address.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeEndpoints } from '../../resources/endpoints.ts'
import { isLabel, isSubdomain } from '../../resources/names.ts'
import { decodeNode } from '../../resources/node.ts'
import type { Decoded, Problem } from '../../resources/problem.ts'
import type { Raw } from '../../resources/reader.ts'
import { decodeService } from '../../resources/service.ts'
import { rawEndpoints, rawNode, rawService, rawSlice } from '../../resources/testing/raw-objects.ts'
import type { EndpointSource, Node, Service } from '../../resources/types.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

/** Values that have broken something somewhere, beside plain ones. */
const poison = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    ' ',
    '__proto__',
    'constructor',
    "'; COMMIT\n-A INPUT -j DROP",
    '\u001b[2J\u0000\u202e',
    '010.0.0.1',
    '127.0.0.1',
    '::ffff:127.0.0.1',
    '10.0.0.1',
    'fd00::1',
    '10.0.0.0/8',
    'None',
    'ClientIP',
    'LoadBalancer',
    'UDP',
    'x'.repeat(5_000),
    -1,
    0,
    1.5,
    80,
    65_536,
    1e300,
    true,
    [],
    {},
    [[]],
    [null],
    [{}],
    JSON.parse('{"__proto__":{"ok":true}}'),
  ),
  fc.jsonValue({ maxDepth: 2 }),
)

/** A sound object in which up to six values, at any depth, are replaced by poison. */
function poisoned(sound: Raw): fc.Arbitrary<unknown> {
  const places = placesIn(sound, [])
  return fc
    .array(fc.tuple(fc.constantFrom(...places), poison), { minLength: 1, maxLength: 6 })
    .map((changes) =>
      changes.reduce<unknown>((raw, [at, value]) => replaced(raw, at, value), sound),
    )
}

type FieldPath = readonly (string | number)[]

function placesIn(value: unknown, at: FieldPath): readonly FieldPath[] {
  if (typeof value !== 'object' || value === null) return [at]
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return [
    at,
    ...keys.flatMap((key) =>
      placesIn((value as Record<string | number, unknown>)[key], [...at, key]),
    ),
  ]
}

function replaced(raw: unknown, [key, ...rest]: FieldPath, value: unknown): unknown {
  if (key === undefined) return value
  if (typeof raw !== 'object' || raw === null || !Object.hasOwn(raw, key)) return raw
  const copy: unknown = Array.isArray(raw) ? [...raw] : { ...raw }
  const fields = copy as Record<string | number, unknown>
  fields[key] = replaced(fields[key], rest, value)
  return copy
}

const RICH_SERVICE = rawService({
  metadata: {
    labels: { 'service.kubernetes.io/service-proxy-name': 'other' },
    annotations: {
      'service.beta.orch.io/load-balancer-source-ranges': '10.0.0.0/8',
      'service.orch.io/ipvs-scheduler': 'rr',
      'service.orch.io/proxy-protocol': 'v1',
    },
  },
  spec: {
    type: 'LoadBalancer',
    clusterIPs: ['10.96.0.1', 'fd00::1'],
    ipFamilies: ['IPv4', 'IPv6'],
    externalIPs: ['203.0.113.1', '2001:db8::1'],
    loadBalancerSourceRanges: ['10.0.0.0/8', 'fd00::/8'],
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    healthCheckNodePort: 32_000,
    selector: { app: 'web' },
    ports: [
      { name: 'a', port: 80, nodePort: 30_080, targetPort: 'http' },
      { name: 'b', protocol: 'UDP', port: 53 },
    ],
  },
  status: { loadBalancer: { ingress: [{ ip: '198.51.100.1', ipMode: 'VIP' }] } },
})

const RICH_SLICE = rawSlice({
  metadata: {
    labels: { 'kubernetes.io/service-name': 'cart' },
    annotations: {
      'service.orch.io/weight': '{"10.0.0.1":5}',
      'endpoints.kubernetes.io/last-change-trigger-time': '2030-01-02T03:04:05Z',
    },
  },
  endpoints: [
    {
      addresses: ['10.0.0.1'],
      nodeName: 'node-1',
      conditions: { ready: true, serving: true, terminating: false },
      hints: { forZones: [{ name: 'a' }], forNodes: [{ name: 'n' }] },
    },
    { addresses: ['10.0.0.2'], topology: { 'kubernetes.io/hostname': 'node-2' } },
  ],
})

const RICH_ENDPOINTS = rawEndpoints({
  subsets: [
    {
      addresses: [{ ip: '10.0.0.1', nodeName: 'node-1' }, { ip: 'fd00::1' }],
      notReadyAddresses: [{ ip: '10.0.0.2' }],
      ports: [
        { name: 'http', port: 8080 },
        { port: 53, protocol: 'UDP' },
      ],
    },
  ],
})

const RICH_NODE = rawNode({
  metadata: { labels: { 'topology.kubernetes.io/zone': 'a' } },
  spec: { podCIDR: '10.0.1.0/24', taints: [{ key: 'x', effect: 'NoSchedule' }] },
})

describe.each<[string, Raw, (raw: unknown) => Decoded<unknown>, (value: never) => void]>([
  ['Service', RICH_SERVICE, decodeService, expectService],
  ['EndpointSlice', RICH_SLICE, decodeEndpointSlice, expectSource],
  ['Endpoints', RICH_ENDPOINTS, decodeEndpoints, expectSource],
  ['Node', RICH_NODE, decodeNode, expectNode],
])('%s', (kind, sound, decode, expectValid) => {
  test('a sound one decodes and validates without a word', () => {
    const decoded = decode(sound)
    expect(decoded).toMatchObject({ ok: true, warnings: [] })
    expect(validateObject(kind, applyDefaults(kind, sound))).toEqual([])
  })

  test('garbage never throws and never yields an invalid value', () => {
    fc.assert(
      fc.property(fc.oneof(poisoned(sound), poison, fc.anything()), (raw) => {
        const decoded = decode(raw)
        expectReadable(decoded.ok ? decoded.warnings : decoded.problems)
        if (decoded.ok && decoded.value !== undefined) expectValid(decoded.value as never)
        if (!decoded.ok) expect(decoded.problems.length).toBeGreaterThan(0)
      }),
      { numRuns: 1_000 },
    )
  })

  test('what a node would warn of, a server refuses', () => {
    fc.assert(
      fc.property(poisoned(sound), (raw) => {
        const decoded = decode(raw)
        const problems = validateObject(kind, raw as Raw)
        expectReadable(problems)
        if (!decoded.ok || decoded.warnings.length > 0) expect(problems).not.toEqual([])
        applyDefaults(kind, Object(raw) as Raw)
      }),
      { numRuns: 1_000 },
    )
  })

  test('decoding twice gives the same, and leaves the object as it was', () => {
    fc.assert(
      fc.property(poisoned(sound), (raw) => {
        const before = JSON.stringify(raw)
        expect(decode(raw)).toEqual(decode(JSON.parse(before)))
        expect(JSON.stringify(raw)).toBe(before)
      }),
    )
  })
})

test('nothing of all this reached the prototype of objects', () => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as Record<string, unknown>)['ok']).toBeUndefined()
})

test('an object as large and deep as the wire allows is read', () => {
  const deep: unknown = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000))
  const ports = Array.from({ length: 20_000 }, () => ({ port: deep }))
  const decoded = decodeService(rawService({ spec: { ports, externalIPs: deep } }))
  expect(decoded.ok && decoded.value.ports).toEqual([])
  expect(decoded.ok && decoded.warnings.length).toBe(51)
})

function expectReadable(problems: readonly Problem[]): void {
  expect(problems.length).toBeLessThanOrEqual(51)
  for (const { field, value, message } of problems) {
    expect(value.length).toBeLessThanOrEqual(80)
    expect(`${field}${value}${message}`).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
    expect(field.length).toBeLessThan(200)
    expect(message).not.toBe('')
  }
}

function expectKey(key: string): void {
  const [namespace = '', name = '', ...rest] = key.split('/')
  expect([isLabel(namespace), isSubdomain(name), rest]).toEqual([true, true, []])
}

function expectAddresses(ips: readonly string[], allowSpecial = false): void {
  for (const ip of ips) {
    expect(parseIp(ip)).toBe(ip)
    if (!allowSpecial) expect(isSpecialAddress(parseIp(ip)!)).toBe(false)
  }
  expect(new Set(ips).size).toBe(ips.length)
}

function expectPort(port: { name: string; protocol: string; port: number }): void {
  expect(port.name === '' || isLabel(port.name)).toBe(true)
  expect(['TCP', 'UDP', 'SCTP']).toContain(port.protocol)
  expectNumber(port.port, 1, 65_535)
}

function expectNumber(value: number, least: number, most: number): void {
  expect(Number.isInteger(value) && value >= least && value <= most).toBe(true)
}

function expectText(value: unknown, longest: number): void {
  expect(typeof value === 'string' && value.length <= longest).toBe(true)
}

function expectService(service: Service): void {
  expectKey(service.key)
  expectText(service.uid, 128)
  expect(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']).toContain(service.type)
  expectAddresses(service.clusterIPs, true)
  expect(service.clusterIPs.length).toBeLessThanOrEqual(2)
  expectAddresses(service.externalIPs)
  expectAddresses(service.loadBalancerIPs)
  for (const port of service.ports) {
    expectPort(port)
    expectNumber(port.nodePort, 0, 65_535)
  }
  for (const range of service.loadBalancerSourceRanges ?? []) expect(parseCidr(range)).toBe(range)
  expect(['Cluster', 'Local']).toContain(service.externalTrafficPolicy)
  expect(['Cluster', 'Local']).toContain(service.internalTrafficPolicy)
  expectNumber(service.healthCheckNodePort, 0, 65_535)
  if (service.affinitySeconds !== undefined) expectNumber(service.affinitySeconds, 1, 86_400)
  expect(typeof service.publishNotReadyAddresses).toBe('boolean')
  if (service.proxyName !== undefined) expectText(service.proxyName, 63)
  if (service.scheduler !== undefined) expect(service.scheduler).toMatch(/^[a-z]{1,15}$/)
  expect([undefined, 'v1', 'v2']).toContain(service.proxyProtocol)
}

function expectSource(source: EndpointSource): void {
  expectKey(source.name)
  expectKey(source.service)
  if (source.triggeredAt !== undefined) expect(Number.isFinite(source.triggeredAt)).toBe(true)
  for (const { family, ports, endpoints } of source.groups) {
    for (const port of ports) expectPort(port)
    for (const endpoint of endpoints) {
      expectAddresses([endpoint.ip])
      expect(endpoint.ip.includes(':')).toBe(family === 6)
      expectText(endpoint.nodeName, 253)
      for (const name of [...(endpoint.zoneHints ?? []), ...(endpoint.nodeHints ?? [])]) {
        expectText(name, 253)
      }
      for (const flag of [endpoint.ready, endpoint.serving, endpoint.terminating]) {
        expect(typeof flag).toBe('boolean')
      }
      expectNumber(endpoint.weight, 0, 65_535)
    }
  }
}

function expectNode(node: Node): void {
  expect(isSubdomain(node.name)).toBe(true)
  if (node.zone !== undefined) expectText(node.zone, 253)
  expectAddresses([...new Set(node.addresses)], true)
  for (const range of node.podCIDRs) expect(parseCidr(range)).toBe(range)
  expect(typeof node.leaving).toBe('boolean')
}
