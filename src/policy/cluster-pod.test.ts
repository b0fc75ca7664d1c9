import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { decodeClusterPod } from './cluster-pod.ts'

const POD: JsonObject = {
  metadata: {
    namespace: 'shop',
    name: 'cart',
    labels: { app: 'cart' },
    creationTimestamp: '2026-01-31T12:00:00Z',
  },
  spec: {
    nodeName: 'node-1',
    containers: [{ ports: [{ name: 'http', containerPort: 8080 }, { containerPort: 9090 }] }],
  },
  status: {
    phase: 'Running',
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }, { ip: '2001:DB8::1' }],
  },
}

test('a Pod has what policies depend on', () => {
  expect(decodeClusterPod(POD)).toEqual({
    ok: true,
    warnings: [],
    value: {
      key: 'shop/cart',
      namespace: 'shop',
      labels: { app: 'cart' },
      ips: ['10.0.0.1', '2001:db8::1'],
      nodeName: 'node-1',
      isBeingDeleted: false,
      createdAt: Date.UTC(2026, 0, 31, 12),
      namedPorts: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    },
  })
})

test.each<[string, JsonObject]>([
  ['on the network of its node', { ...POD, spec: { hostNetwork: true } }],
  ['that has finished', { ...POD, status: { phase: 'Failed', podIP: '10.0.0.1' } }],
  ['that has succeeded', { ...POD, status: { phase: 'Succeeded', podIP: '10.0.0.1' } }],
  ['without an address', { ...POD, status: { phase: 'Pending' } }],
  ['with an empty address', { ...POD, status: { podIP: '' } }],
])('a Pod %s is none for policies', (_, pod) => {
  expect(decodeClusterPod(pod)).toEqual({ ok: true, value: undefined, warnings: [] })
})

test('the one address of an old server is read', () => {
  const decoded = decodeClusterPod({ ...POD, status: { podIP: '10.0.0.9' } })
  expect(decoded).toMatchObject({ value: { ips: ['10.0.0.9'] } })
})

test('an address that cannot be read is named, and the others are kept', () => {
  const status = { podIPs: [{ ip: '10.0.0.01' }, { ip: '10.0.0.2' }, { ip: '10.0.0.2' }] }
  expect(decodeClusterPod({ ...POD, status })).toMatchObject({
    value: { ips: ['10.0.0.2'] },
    warnings: [{ field: 'status.podIPs[0].ip', value: '"10.0.0.01"' }],
  })
})

test.each([[null], [[]], ['text'], [7]])('%j is no Pod', (raw) => {
  expect(decodeClusterPod(raw)).toEqual({ ok: true, value: undefined, warnings: [] })
})
