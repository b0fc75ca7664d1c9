import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { endpointSlices } from './endpoint-slice.ts'
import { endpoints } from './endpoints.ts'
import { events } from './event.ts'
import { namespaces } from './namespace.ts'
import { nodes } from './node/resource.ts'
import { pods } from './pod/resource.ts'
import { services } from './service/resource.ts'

const NOW = Date.UTC(2026, 0, 1, 1)
const metadata = { name: 'x', creationTimestamp: '2026-01-01T00:00:00Z' }

function cells(resource: Resource, object: JsonObject): readonly unknown[] {
  return resource.columns.map((column) => column.cell({ metadata, ...object }, NOW))
}

test.each([
  [
    { type: 'ClusterIP', clusterIP: '10.96.0.1' },
    {},
    ['ClusterIP', '10.96.0.1', '<none>', '<none>'],
  ],
  [
    { type: 'LoadBalancer', clusterIP: '10.96.0.1' },
    {},
    ['LoadBalancer', '10.96.0.1', '<pending>', '<none>'],
  ],
  [
    {
      type: 'LoadBalancer',
      clusterIP: '10.96.0.1',
      externalIPs: ['192.0.2.2'],
      ports: [
        { port: 80, nodePort: 30_080 },
        { port: 53, protocol: 'UDP' },
      ],
    },
    { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'lb.example' }] } },
    ['LoadBalancer', '10.96.0.1', '192.0.2.1,lb.example,192.0.2.2', '80:30080/TCP,53/UDP'],
  ],
  [
    { type: 'ExternalName', externalName: 'example.com' },
    {},
    ['ExternalName', '<none>', 'example.com', '<none>'],
  ],
])('a Service of %j', (spec, status, expected) => {
  expect(cells(services, { spec, status })).toEqual(['x', ...expected, '60m', '<none>'])
})

test('Endpoints name three addresses and count the rest', () => {
  const addresses = ['10.1.0.1', 'fd00::1', '10.1.0.3', '10.1.0.4'].map((ip) => ({ ip }))
  const some = { subsets: [{ addresses: addresses.slice(0, 2), ports: [{ port: 80 }] }] }
  expect(cells(endpoints, some)[1]).toBe('10.1.0.1:80,[fd00::1]:80')
  const many = { subsets: [{ addresses, ports: [{ port: 80 }] }] }
  expect(cells(endpoints, many)[1]).toBe('10.1.0.1:80,[fd00::1]:80,10.1.0.3:80 + 1 more...')
  expect(cells(endpoints, {})[1]).toBe('<none>')
})

test('an EndpointSlice shows type, ports and addresses', () => {
  const slice = {
    addressType: 'IPv4',
    ports: [{ port: 80 }, {}],
    endpoints: [{ addresses: ['10.1.0.1'] }],
  }
  expect(cells(endpointSlices, slice)).toEqual(['x', 'IPv4', '80,*', '10.1.0.1', '60m'])
  expect(cells(endpointSlices, { addressType: 'IPv6' })).toEqual([
    'x',
    'IPv6',
    '<unset>',
    '<unset>',
    '60m',
  ])
})

test('a pod shows readiness, phase, restarts, address and node', () => {
  const pod = {
    spec: {
      containers: [{ name: 'a' }, { name: 'b' }],
      nodeName: 'n1',
      readinessGates: [{ conditionType: 'lb' }],
    },
    status: {
      phase: 'Running',
      podIP: '10.1.0.1',
      conditions: [{ type: 'lb', status: 'True' }],
      containerStatuses: [
        { ready: true, restartCount: 2, state: { running: {} } },
        { ready: false, restartCount: 1, state: { running: {} } },
      ],
    },
  }
  expect(cells(pods, pod)).toEqual([
    'x',
    '1/2',
    'Running',
    '3',
    '60m',
    '10.1.0.1',
    'n1',
    '<none>',
    '1/1',
  ])
})

const NODE_LABELS = {
  'node-role.kubernetes.io/worker': '',
  'node-role.kubernetes.io/': '',
  'kubernetes.io/role': 'edge',
  other: 'x',
}

test('a node shows readiness, roles, version and addresses', () => {
  const node = {
    metadata: { ...metadata, labels: NODE_LABELS },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
      nodeInfo: { kubeletVersion: 'v1.30.0', osImage: 'Debian' },
    },
  }
  const expected = [
    'x',
    'Ready,SchedulingDisabled',
    'edge,worker',
    '60m',
    'v1.30.0',
    '192.0.2.1',
    '<none>',
    'Debian',
    '<unknown>',
    '<unknown>',
  ]
  expect(cells(nodes, node)).toEqual(expected)
  expect(cells(nodes, {})[1]).toBe('Unknown')
})

test.each(['False', 'Unknown', 'constructor'])('a node that is %s to be ready is not', (status) => {
  const conditions = [{ type: 'Ready', status }]
  expect(cells(nodes, { status: { conditions } })[1]).toBe('NotReady')
})

test('an event shows when, what and about whom; a namespace its phase', () => {
  const event = {
    involvedObject: { kind: 'Service', name: 'web' },
    reason: 'Conflict',
    type: 'Warning',
    message: ' two claim one address \n',
    lastTimestamp: '2026-01-01T00:59:30Z',
    source: { component: 'node-proxy' },
  }
  expect(cells(events, event)).toEqual([
    '30s',
    'Warning',
    'Conflict',
    'service/web',
    'node-proxy',
    'two claim one address',
    '1',
    'x',
  ])
  expect(cells(namespaces, { status: { phase: 'Active' } })).toEqual(['x', 'Active', '60m'])
})
