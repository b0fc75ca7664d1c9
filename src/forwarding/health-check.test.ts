import { expect, test } from 'vitest'
import type { Service } from '../resources/types.ts'
import { healthCheckOf, localReadyEndpoints } from './health-check.ts'
import {
  CLUSTER_IP,
  clusterOf,
  endpoint,
  ip,
  LEAVING,
  nodeContext,
  service,
  serviceKey,
  slice,
} from './testing/fixtures.ts'

const HERE = { nodeName: 'here' } as const
const key = serviceKey('shop/cart')
const CHECKED = {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  healthCheckNodePort: 30000,
} as const

function check(overrides: Partial<Service>) {
  const sources = [slice([endpoint('10.0.0.1', HERE)])]
  return healthCheckOf(
    key,
    clusterOf([service({ ...CHECKED, ...overrides })], sources),
    nodeContext(),
  )
}

test('a LoadBalancer Service with policy Local has a health check', () => {
  expect(check({})).toEqual({ service: key, port: 30000, localEndpoints: 1 })
})

test.each<[string, Partial<Service>]>([
  ['another type', { type: 'NodePort' }],
  ['policy Cluster', { externalTrafficPolicy: 'Cluster' }],
  ['no port allocated', { healthCheckNodePort: 0 }],
  ['another proxy', { proxyName: 'other' }],
  ['headless', { clusterIPs: [] }],
])('%s has none', (_, overrides) => {
  expect(check(overrides)).toBeUndefined()
})

test('a deleted Service has no health check and no local endpoints', () => {
  expect(healthCheckOf(key, clusterOf([]), nodeContext())).toBeUndefined()
  expect(localReadyEndpoints(key, clusterOf([]), nodeContext())).toBe(0)
})

test('distinct addresses count, a dual-stack Pod once', () => {
  const sources = [
    slice([endpoint('10.0.0.1', HERE), endpoint('10.0.0.2', HERE)]),
    slice([endpoint('10.0.0.1', HERE)], { name: 'shop/cart-2' }),
    slice([endpoint('fd00::1', HERE), endpoint('fd00::2', HERE)], { name: 'shop/cart-3' }),
    slice([endpoint('10.0.0.9', HERE)], { name: 'shop/cart-4', ports: [] }),
  ]
  const requested = service({ clusterIPs: [CLUSTER_IP, ip('fd00:9::1')] })
  expect(localReadyEndpoints(key, clusterOf([requested], sources), nodeContext())).toBe(2)
})

test('terminating, unready, special and foreign endpoints do not count', () => {
  const sources = [
    slice([
      endpoint('10.0.0.1', { ...HERE, ...LEAVING }),
      endpoint('10.0.0.2', { ...HERE, ready: false }),
      endpoint('127.0.0.1', HERE),
      endpoint('10.0.0.3', { nodeName: 'there' }),
    ]),
  ]
  expect(localReadyEndpoints(key, clusterOf([service()], sources), nodeContext())).toBe(0)
})
