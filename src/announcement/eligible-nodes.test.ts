import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { IpAddress } from '../lib/ip.ts'
import type { Endpoint, ServiceKey } from '../resources/types.ts'
import {
  type AnnouncedService,
  type AnnouncerNode,
  addressesOf,
  MAX_CONTENDERS,
  NodeOrder,
  notAnnouncing,
} from './eligible-nodes.ts'

const IP = '192.0.2.50' as IpAddress

function service(
  name: string,
  options: Partial<AnnouncedService['service']> = {},
): AnnouncedService {
  const usual = {
    type: 'LoadBalancer',
    loadBalancerIPs: [IP],
    externalTrafficPolicy: 'Cluster',
    publishNotReadyAddresses: false,
  } as const
  const key = `default/${name}` as ServiceKey
  return { service: { key, ...usual, ...options }, endpoints: [] }
}

const READY = { ready: true, serving: true, terminating: false }
const STARTING = { ready: false, serving: false, terminating: false }
const DRAINING = { ready: false, serving: true, terminating: true }
const ENDED = { ready: false, serving: false, terminating: true }
type State = typeof READY

function local(name: string, nodes: Readonly<Record<string, State>>, more = {}): AnnouncedService {
  const endpoints = Object.entries(nodes).map(
    ([nodeName, state]): Endpoint => ({
      ip: '10.0.0.1' as IpAddress,
      nodeName,
      ...state,
      zoneHints: undefined,
      nodeHints: undefined,
      weight: 1,
    }),
  )
  const groups = [{ family: 4, ports: [], endpoints }] as const
  const one = service(name, { externalTrafficPolicy: 'Local', ...more })
  const source = { name: `default/${name}-1`, service: one.service.key, groups }
  return { ...one, endpoints: [{ ...source, triggeredAt: undefined }] }
}

const node = (name: string, more: Partial<AnnouncerNode> = {}): AnnouncerNode => ({
  name,
  isExcluded: false,
  isReady: true,
  ...more,
})
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => node(`node-${index}`))
const plan = (
  services: readonly AnnouncedService[],
  nodes: readonly AnnouncerNode[],
  loadBalancerClass?: string,
) => new NodeOrder().following(nodes).plan(services, loadBalancerClass)
const nodesOf = (services: readonly AnnouncedService[], nodes = numbered(3)) =>
  plan(services, nodes).get(IP)?.nodes.toSorted()

test('policy Cluster: every node that is ready and not excluded, with and without endpoints', () => {
  const nodes = [
    ...numbered(2),
    node('excluded', { isExcluded: true }),
    node('silent', { isReady: false }),
  ]
  expect(nodesOf([service('a')], nodes)).toEqual(['node-0', 'node-1'])
  expect(nodes.map((one) => notAnnouncing(one, [service('a')]))).toEqual([
    undefined,
    undefined,
    'excluded',
    'notReady',
  ])
})

test.each<readonly [string, AnnouncedService, readonly string[]]>([
  [
    'ready ones',
    local('a', { 'node-0': READY, 'node-1': STARTING, 'node-2': DRAINING }),
    ['node-0'],
  ],
  [
    'terminating ones, while none is ready',
    local('a', { 'node-1': DRAINING, 'node-2': ENDED }),
    ['node-1'],
  ],
  ['none', local('a', { 'node-0': STARTING, 'node-1': ENDED }), []],
  ['none whose node is unknown', local('a', { '': READY }), []],
  [
    'unready ones that are published',
    local('a', { 'node-0': STARTING, 'node-1': DRAINING }, { publishNotReadyAddresses: true }),
    ['node-0'],
  ],
])('policy Local: nodes with usable endpoints: %s', (_, one, expected) => {
  expect(nodesOf([one])).toEqual(expected)
  const reasons = numbered(3).map((each) => [each.name, notAnnouncing(each, [one])])
  const fit = reasons.flatMap(([name, reason]) => (reason === undefined ? [name] : []))
  expect(fit).toEqual(expected)
  expect(reasons.every(([, reason]) => reason === undefined || reason === 'noEndpoint')).toBe(true)
})

test('an address of several Services is announced only by nodes that are fit for all of them', () => {
  const [one, two] = [
    local('a', { 'node-0': READY, 'node-1': READY }),
    local('b', { 'node-1': READY, 'node-2': READY }),
  ]
  expect(nodesOf([two, one, service('c')])).toEqual(['node-1'])
  expect(plan([two, one], numbered(3)).get(IP)?.services).toEqual(['default/a', 'default/b'])
  expect(nodesOf([one, local('c', { 'node-2': READY })])).toEqual([])
})

test('only Services of type LoadBalancer, and of the class that is chosen', () => {
  const loadBalancerClass = 'example.com/ours'
  const ours = service('ours', { loadBalancerClass })
  const others = [service('a', { type: 'NodePort' }), service('b', { loadBalancerIPs: [] })]
  expect(plan([...others, ours], numbered(1)).size).toBe(0)
  const planned = plan([...others, ours, service('c')], numbered(1), loadBalancerClass)
  expect(planned.get(IP)?.services).toEqual(['default/ours'])
})

const ips = Array.from(
  { length: 400 },
  (_, index) => `192.0.${index >> 8}.${index & 255}` as IpAddress,
)
const manyAddresses = [service('many', { loadBalancerIPs: ips })]
const firsts = (nodes: readonly AnnouncerNode[]) =>
  ips.map((ip) => planned(nodes).get(ip)!.nodes[0]!)
const planned = (nodes: readonly AnnouncerNode[]) => plan(manyAddresses, nodes)

test('addresses spread over the nodes', () => {
  const counts = Map.groupBy(firsts(numbered(8)), (name) => name)
  const expected = ips.length / 8
  const chi = [...counts.values()].reduce(
    (sum, { length }) => sum + (length - expected) ** 2 / expected,
    0,
  )
  // The same addresses in every run: no chance. A fair spread exceeds this once in a thousand times.
  expect([counts.size, chi < 24.3]).toEqual([8, true])
})

test('a node that joins gets its share, and moves nothing else; the order of the others stays', () => {
  const [before, after] = [planned(numbered(8)), planned(numbered(9))]
  let moved = 0
  for (const ip of ips) {
    const [old, now] = [before.get(ip)!.nodes, after.get(ip)!.nodes]
    expect(now.filter((name) => name !== 'node-8')).toEqual(old)
    if (now[0] !== old[0]) moved += 1
  }
  expect(moved).toBeGreaterThan(ips.length / 18)
  expect(moved).toBeLessThan(ips.length / 5)
})

test('the order depends neither on the order of the nodes nor on that of the Services', () => {
  const shuffled = fc.shuffledSubarray(numbered(40), { minLength: 40 })
  fc.assert(
    fc.property(shuffled, (nodes) => {
      expect([...planned(nodes)].slice(0, 5)).toEqual([...planned(numbered(40))].slice(0, 5))
    }),
    { numRuns: 10 },
  )
})

test('of many nodes the first 16 contend: those with the largest weights, as if there were no others', () => {
  const all = planned(numbered(500)).get(ips[0]!)!.nodes
  expect(all).toHaveLength(MAX_CONTENDERS)
  expect(planned(all.map((name) => node(name))).get(ips[0]!)!.nodes).toEqual(all)
  const without = planned(numbered(500).filter(({ name }) => name !== all[3])).get(ips[0]!)!.nodes
  expect(without.slice(0, 15)).toEqual(all.filter((name) => name !== all[3]))
})

test('an order is kept while the same nodes are ready, and made again when they change', () => {
  const order = new NodeOrder().following(numbered(20))
  const nodesFor = (one: NodeOrder) => one.plan(manyAddresses, undefined).get(ips[0]!)!.nodes
  expect(order.following([...numbered(20), node('excluded', { isExcluded: true })])).toBe(order)
  expect(nodesFor(order)).toEqual(planned(numbered(20)).get(ips[0]!)!.nodes)
  expect(nodesFor(order)).toBe(nodesFor(order))
  const fewer = numbered(20).filter(({ name }) => name !== nodesFor(order)[0])
  expect(nodesFor(order.following(fewer))).toEqual(planned(fewer).get(ips[0]!)!.nodes)
})

test('addresses for routers: those for which the node is fit, whoever else is', () => {
  const other = '2001:db8::50' as IpAddress
  const services = [
    local('a', { 'node-0': READY }),
    service('b', { loadBalancerIPs: [other] }),
    service('c', { loadBalancerIPs: ['192.0.2.9' as IpAddress], loadBalancerClass: 'x' }),
  ]
  const nodes = [...numbered(2), node('node-2', { isExcluded: true })]
  expect(nodes.map((one) => addressesOf(one, services, undefined))).toEqual([
    [IP, other],
    [other],
    [],
  ])
})
