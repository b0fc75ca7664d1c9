import { expect, test } from 'vitest'
import { decodeNode } from './node.ts'
import type { Raw } from './reader.ts'
import { placesOf, problemsOf, rawNode, sound, valueOf } from './testing/raw-objects.ts'
import type { Node } from './types.ts'

test('projects a Node to what its proxy needs', () => {
  const status = {
    addresses: [
      { type: 'Hostname', address: 'node-1' },
      { type: 'ExternalIP', address: '203.0.113.1' },
      { type: 'InternalIP', address: '192.168.0.2' },
      { type: 'InternalIP', address: 'FD00::2' },
      { type: 'InternalDNS', address: 'node-1.internal' },
    ],
  }
  const labels = { 'topology.kubernetes.io/zone': 'zone-a' }
  expect(sound(decodeNode(rawNode({ metadata: { labels }, status })))).toEqual({
    name: 'node-1',
    zone: 'zone-a',
    addresses: ['192.168.0.2', 'fd00::2', '203.0.113.1'],
    podCIDRs: ['10.0.1.0/24'],
    leaving: false,
  })
})

test.each<[Raw, string | undefined]>([
  [{}, undefined],
  [{ 'topology.orch.io/zone': 'b' }, 'b'],
  [{ 'failure-domain.beta.kubernetes.io/zone': 'c' }, 'c'],
  [{ 'failure-domain.beta.kubernetes.io/zone': 'c', 'topology.orch.io/zone': 'b' }, 'b'],
  [{ 'topology.kubernetes.io/zone': '', 'topology.orch.io/zone': 'b' }, 'b'],
  [{ 'topology.kubernetes.io/zone': '' }, undefined],
])('labels %j are zone %j', (labels, zone) => {
  expect(sound(decodeNode(rawNode({ metadata: { labels } }))).zone).toBe(zone)
})

test('a label excludes a Node from load balancers, whatever its value', () => {
  for (const group of ['node.kubernetes.io', 'node.orch.io']) {
    const labels = { [`${group}/exclude-from-external-load-balancers`]: 'false' }
    expect(sound(decodeNode(rawNode({ metadata: { labels } }))).excludedFromLoadBalancers).toBe(
      true,
    )
  }
})

test.each<[Raw, readonly string[]]>([
  [{ podCIDRs: ['10.0.1.7/24', 'fd00:1::/64'] }, ['10.0.1.0/24', 'fd00:1::/64']],
  [{ podCIDRs: undefined, podCIDR: '10.0.2.0/24' }, ['10.0.2.0/24']],
  [{ podCIDRs: [], podCIDR: '' }, []],
  [{ podCIDRs: ['10.0.1.0/24'], podCIDR: '10.0.9.0/24' }, ['10.0.1.0/24']],
])('%j', (spec, podCIDRs) => {
  expect(sound(decodeNode(rawNode({ spec }))).podCIDRs).toEqual(podCIDRs)
})

test.each<[Raw, boolean]>([
  [{}, false],
  [{ metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } }, true],
  [{ metadata: { deletionTimestamp: null } }, false],
  [{ spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] } }, true],
  [{ spec: { taints: [{ key: 'dedicated', value: 'ToBeDeletedByClusterAutoscaler' }] } }, false],
])('%j is leaving: %j', (parts, leaving) => {
  expect(sound(decodeNode(rawNode(parts))).leaving).toBe(leaving)
})

test.each<[Raw, Partial<Node>, string]>([
  [
    { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.01x' }] } },
    { addresses: [] },
    'status.addresses[0].address "10.0.0.01x"',
  ],
  [{ status: { addresses: [null] } }, { addresses: [] }, 'status.addresses[0] null'],
  [{ spec: { podCIDRs: ['x', '10.0.0.0/8'] } }, {}, 'spec.podCIDRs[0] "x"'],
  [{ spec: { podCIDRs: [], podCIDR: 7 } }, { podCIDRs: [] }, 'spec.podCIDR 7'],
  [
    { metadata: { labels: { 'topology.kubernetes.io/zone': 7 } } },
    { zone: undefined },
    'metadata.labels[topology.kubernetes.io/zone] 7',
  ],
])('%j costs only the value', (parts, expected, place) => {
  const decoded = decodeNode(rawNode(parts))
  expect(valueOf(decoded)).toMatchObject(expected)
  expect(placesOf(problemsOf(decoded))).toEqual([place])
})

test('a node without a proper name cannot be used', () => {
  expect(decodeNode(rawNode({ metadata: { name: 'Node_1' } })).ok).toBe(false)
  expect(sound(decodeNode(rawNode({ metadata: { name: 'ip-10-0-0-1.ec2.internal' } }))).name).toBe(
    'ip-10-0-0-1.ec2.internal',
  )
})
