import { expect, test } from 'vitest'
import type { Endpoint } from '../resources/types.ts'
import { clientsOwner } from './affinity.ts'
import { compileService } from './compile.ts'
import type { NodeContext } from './node-context.ts'
import {
  CLUSTER_IP,
  clusterOf,
  endpoint,
  endpointPort,
  ip,
  nodeContext,
  service,
  servicePort,
  slice,
} from './testing/fixtures.ts'

const PORTS = ['a', 'b', 'c'] as const

/** The name by which the clients of each port are remembered, where these are its endpoints. */
function ownersOf(
  endpoints: Partial<Record<(typeof PORTS)[number], readonly Endpoint[]>>,
  node: Partial<NodeContext> = {},
): readonly string[] {
  const requested = service({
    affinitySeconds: 60,
    clusterIPs: [CLUSTER_IP, ip('fd00::1')],
    ports: PORTS.map((name, index) => servicePort({ name, port: 80 + index })),
  })
  const sources = PORTS.flatMap((name, index) =>
    [...Map.groupBy(endpoints[name] ?? [], (one) => one.ip.includes(':')).values()].map(
      (those, family) =>
        slice(those, {
          name: `shop/cart-${name}-${family}`,
          ports: [endpointPort({ name, port: 8080 + index })],
        }),
    ),
  )
  return compileService(requested.key, clusterOf([requested], sources), nodeContext(node))
    .filter(({ family, pools }) => family === 4 || pools.cluster.length > 0)
    .map(clientsOwner)
}

const [one, two] = [endpoint('10.0.0.1'), endpoint('10.0.0.2')]
const v6 = endpoint('fd00:1::1')

test('ports of the same Pods share their clients, those of each family', () => {
  const all = [two, v6, one]
  expect(ownersOf({ a: [one, two, v6], b: all, c: all })).toEqual([
    'shop/cart:4',
    'shop/cart:6',
    'shop/cart:4',
    'shop/cart:6',
    'shop/cart:4',
    'shop/cart:6',
  ])
})

test('a port with other Pods has clients of its own, and the others go on sharing theirs', () => {
  expect(ownersOf({ a: [one, two], b: [one], c: [one, two] })).toEqual([
    'shop/cart:4',
    'shop/cart:b/TCP/4',
    'shop/cart:4',
  ])
})

test('a port without Pods decides nothing', () => {
  expect(ownersOf({ b: [one], c: [one, two] }).slice(1)).toEqual([
    'shop/cart:4',
    'shop/cart:c/TCP/4',
  ])
})

test('a Pod that gets no new clients at one port is not the same there', () => {
  expect(ownersOf({ a: [one, two], b: [one, { ...two, weight: 0 }] })).toEqual([
    'shop/cart:4',
    'shop/cart:b/TCP/4',
    'shop/cart:4',
  ])
})

test('a Pod with two ports of one name is two backends, each with clients of its own', () => {
  const requested = service({ affinitySeconds: 60, ports: [servicePort()] })
  const ports = [8080, 8081].map((port) => endpointPort({ port }))
  const sources = ports.map((port, index) =>
    slice([one], { name: `shop/cart-${index}`, ports: [port] }),
  )
  const [entry] = compileService(requested.key, clusterOf([requested], sources), nodeContext())
  expect(entry?.pools.cluster).toHaveLength(2)
  expect(entry && clientsOwner(entry)).toBe('shop/cart:http/TCP/4')
})

test('with affinityScope port every port has clients of its own', () => {
  expect(ownersOf({ a: [one], b: [one] }, { affinityScope: 'port' })).toEqual([
    'shop/cart:a/TCP/4',
    'shop/cart:b/TCP/4',
    'shop/cart:c/TCP/4',
  ])
})

test('without affinity nothing is shared', () => {
  const requested = service({ ports: [servicePort()] })
  const [entry] = compileService(
    requested.key,
    clusterOf([requested], [slice([one], { ports: [endpointPort()] })]),
    nodeContext(),
  )
  expect(entry?.affinity).toBeUndefined()
})
