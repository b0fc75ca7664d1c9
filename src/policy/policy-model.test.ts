import { describe, expect, test } from 'vitest'
import { type Cidr, type IpAddress, parseIp } from '../lib/ip.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import { readPolicy } from '../networkpolicy/read-policy.ts'
import { decodeClusterPod } from './cluster-pod.ts'
import type { PolicyEvent, PolicyFlow } from './policy-content.ts'
import { PolicyModel } from './policy-model.ts'
import { interpret } from './testing/interpret-content.ts'

/** Pods of this node: `x/web` and `x/cart`; elsewhere: `x/far` and `y/cart`, whose namespace has `team: b`. */
const NODE = 'node-1'
const WEB = '10.0.0.1'
const CART = '10.0.0.2'
const FAR = '10.0.1.1'
const FOREIGN = '10.0.1.2'
const OUTSIDE = '203.0.113.9'
const PORTS = [
  { name: 'http', containerPort: 8080 },
  { name: 'dns', containerPort: 5353, protocol: 'UDP' },
]

interface TestPod {
  readonly ips?: readonly string[]
  readonly labels?: JsonObject
  readonly node?: string
  readonly created?: string
  readonly deleted?: string
  readonly spec?: JsonObject
  readonly phase?: string
}

function pod(key: string, given: TestPod = {}): PolicyEvent {
  const { ips = [], labels, node = NODE, created, deleted, spec, phase = 'Running' } = given
  const [namespace = '', name = ''] = key.split('/')
  const decoded = decodeClusterPod({
    metadata: {
      namespace,
      name,
      labels: labels ?? { app: name },
      ...(created !== undefined && { creationTimestamp: created }),
      ...(deleted !== undefined && { deletionTimestamp: deleted }),
    },
    spec: { nodeName: node, containers: [{ ports: PORTS }], ...spec },
    status: { phase, podIPs: ips.map((one) => ({ ip: one })) },
  })
  return { kind: 'pod', key, value: decoded.ok ? decoded.value : undefined }
}

function policy(spec: JsonObject, key = 'x/p'): PolicyEvent {
  const [namespace = '', name = ''] = key.split('/')
  const value = readPolicy({ metadata: { namespace, name }, spec: { podSelector: {}, ...spec } })
  return { kind: 'policy', key, value }
}

function namespace(name: string, labels: Json | undefined): PolicyEvent {
  return { kind: 'namespace', name, labels }
}

const CLUSTER = [
  namespace('x', { team: 'a' }),
  namespace('y', { team: 'b' }),
  pod('x/web', { ips: [WEB, '2001:db8::1'] }),
  pod('x/cart', { ips: [CART] }),
  pod('x/far', { ips: [FAR, '2001:db8:1::1'], node: 'node-2' }),
  pod('y/cart', { ips: [FOREIGN], node: 'node-2' }),
]

function modelOf(...events: readonly PolicyEvent[]): PolicyModel {
  const model = new PolicyModel({ nodeName: NODE })
  model.apply([...CLUSTER, ...events])
  return model
}

interface Case {
  readonly from?: string
  readonly to?: string
  readonly port?: number
  readonly protocol?: PolicyFlow['protocol']
}

/** As packets are judged, and as tracked connections are, which must be the same. */
function isAdmitted(model: PolicyModel, given: Case = {}): boolean {
  const { from = FAR, to = WEB, port = 8080, protocol = 'TCP' } = given
  const flow = { source: parseIp(from)!, destination: parseIp(to)!, protocol, port }
  const found = model.admits(flow)
  if (protocol !== 'other') expect(interpret(model.content, { ...flow, protocol })).toBe(found)
  return found
}

const apps = (name: string) => ({ matchLabels: { app: name } })
const from = (...peers: readonly JsonObject[]) => ({ ingress: [{ from: [...peers] }] })
const ports = (...list: readonly Json[]) => ({ ingress: [{ ports: [...list] }] })

describe('which Pods are isolated', () => {
  test.each<[string, JsonObject, Case, boolean]>([
    ['without rules nothing is admitted', {}, {}, false],
    ['an empty list of rules', { ingress: [] }, {}, false],
    ['an empty rule admits everything', { ingress: [{}] }, {}, true],
    ['ingress by default', {}, { from: WEB, to: OUTSIDE }, true],
    [
      'egress, too, by its rules',
      { egress: [{ to: [{ podSelector: apps('x') }] }] },
      { from: WEB, to: OUTSIDE },
      false,
    ],
    ['not by an empty list of them', { egress: [] }, { from: WEB, to: OUTSIDE }, true],
    ['egress by its type', { policyTypes: ['Egress'] }, { from: WEB, to: OUTSIDE }, false],
    ['egress alone', { policyTypes: ['Egress'] }, {}, true],
    ['a Pod of another node is not this one’s', {}, { from: OUTSIDE, to: FAR }, true],
    ['one that is not selected', { podSelector: apps('cart') }, {}, true],
    ['a Pod reaches itself', { policyTypes: ['Ingress', 'Egress'] }, { from: WEB, to: WEB }, true],
    ['in both families', {}, { from: '2001:db8:1::1', to: '2001:db8::1' }, false],
    [
      'of both ends both decide',
      { policyTypes: ['Egress'], podSelector: apps('cart') },
      { from: CART },
      false,
    ],
  ])('%s', (_, spec, given, expected) => {
    expect(isAdmitted(modelOf(policy(spec)), given)).toBe(expected)
  })

  test('a Pod on the network of its node, and one that has finished, are not isolated and no peers', () => {
    for (const one of [
      { spec: { hostNetwork: true } },
      { phase: 'Succeeded' },
      { phase: 'Failed' },
    ]) {
      expect(isAdmitted(modelOf(policy({}), pod('x/web', { ips: [WEB], ...one })))).toBe(true)
      const model = modelOf(policy(from({ podSelector: {} })))
      expect(isAdmitted(model)).toBe(true)
      model.apply([pod('x/far', { ips: [FAR], node: 'node-2', ...one })])
      expect(isAdmitted(model)).toBe(false)
    }
  })
})

describe('peers', () => {
  test.each<[string, JsonObject, string, boolean]>([
    ['an empty list admits any', from(), OUTSIDE, true],
    ['a Pod of the namespace', from({ podSelector: apps('far') }), FAR, true],
    ['one of another namespace', from({ podSelector: apps('cart') }), FOREIGN, false],
    ['a namespace', from({ namespaceSelector: { matchLabels: { team: 'b' } } }), FOREIGN, true],
    [
      'another namespace',
      from({ namespaceSelector: { matchLabels: { team: 'a' } } }),
      FOREIGN,
      false,
    ],
    ['both must hold', from({ namespaceSelector: {}, podSelector: apps('far') }), FOREIGN, false],
    ['no address outside', from({ namespaceSelector: {} }), OUTSIDE, false],
    ['a block', from({ ipBlock: { cidr: '203.0.113.0/24' } }), OUTSIDE, true],
    [
      'its exception',
      from({ ipBlock: { cidr: '203.0.113.0/24', except: ['203.0.113.8/31'] } }),
      OUTSIDE,
      false,
    ],
    [
      'beside it',
      from({ ipBlock: { cidr: '203.0.113.0/24', except: ['203.0.113.8/32'] } }),
      OUTSIDE,
      true,
    ],
    [
      'all of it',
      from({ ipBlock: { cidr: '203.0.113.0/24', except: ['203.0.113.0/24'] } }),
      OUTSIDE,
      false,
    ],
    [
      'exceptions in each other',
      from({ ipBlock: { cidr: '203.0.113.0/24', except: ['203.0.113.0/28', '203.0.113.0/30'] } }),
      OUTSIDE,
      false,
    ],
    ['what cannot be read admits nothing', from({ ipBlock: { cidr: 'x' } }), OUTSIDE, false],
  ])('%s', (_, spec, source, expected) => {
    expect(isAdmitted(modelOf(policy(spec)), { from: source })).toBe(expected)
  })

  test('a block of IPv6 has its exception', () => {
    const spec = from({ ipBlock: { cidr: '::/0', except: ['2001:db8:1::/48'] } })
    const model = modelOf(policy(spec))
    expect(isAdmitted(model, { from: '2001:db8:1::1', to: '2001:db8::1' })).toBe(false)
    expect(isAdmitted(model, { from: '2001:db8:2::', to: '2001:db8::1' })).toBe(true)
  })

  test('labels of namespaces decide when they are known', () => {
    const notB = { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['b'] }] }
    const model = modelOf(policy(from({ namespaceSelector: notB })))
    expect(isAdmitted(model, { from: FOREIGN })).toBe(false)
    model.apply([namespace('y', undefined)])
    expect(isAdmitted(model, { from: FOREIGN })).toBe(false)
    model.apply([namespace('y', {})])
    expect(isAdmitted(model, { from: FOREIGN })).toBe(true)
    model.apply([namespace('y', { team: 'b' })])
    expect(isAdmitted(model, { from: FOREIGN })).toBe(false)
  })
})

describe('ports', () => {
  test.each<[string, JsonObject, Case, boolean]>([
    ['a number', ports({ port: 8080 }), {}, true],
    ['another number', ports({ port: 80 }), {}, false],
    ['another protocol', ports({ port: 8080 }), { protocol: 'UDP' }, false],
    ['SCTP', ports({ protocol: 'SCTP' }), { protocol: 'SCTP' }, true],
    ['the end of a range', ports({ port: 8000, endPort: 8080 }), {}, true],
    ['behind it', ports({ port: 8000, endPort: 8079 }), {}, false],
    ['an end before its beginning', ports({ port: 8080, endPort: 80 }), {}, false],
    ['a name', ports({ port: 'http' }), {}, true],
    ['a name of another port', ports({ port: 'http' }), { port: 80 }, false],
    ['a name of another protocol', ports({ port: 'dns' }), { port: 5353 }, false],
    [
      'a name of its protocol',
      ports({ port: 'dns', protocol: 'UDP' }),
      { port: 5353, protocol: 'UDP' },
      true,
    ],
    ['an empty list: every protocol', ports(), { protocol: 'other', port: 0 }, true],
    ['ports admit their protocols alone', ports({}), { protocol: 'other', port: 0 }, false],
    ['ports that cannot be read admit none', ports({ protocol: 'ICMP' }), {}, false],
  ])('%s', (_, spec, given, expected) => {
    expect(isAdmitted(modelOf(policy(spec)), given)).toBe(expected)
  })

  test('for egress, names are those of the destination', () => {
    const model = modelOf(
      policy({ policyTypes: ['Egress'], egress: [{ ports: [{ port: 'http' }] }] }),
    )
    expect(isAdmitted(model, { from: WEB, to: FAR })).toBe(true)
    expect(isAdmitted(model, { from: WEB, to: OUTSIDE })).toBe(false)
  })

  test('content has only numbers that ports can have', () => {
    const spec = ports({ port: -3, endPort: 4.5 }, { port: 70_000 }, { port: 9, endPort: 70_000 })
    const [chain] = modelOf(policy(spec)).content.policyChains.values()
    expect(chain?.rules).toEqual([
      {
        peers: 'any',
        ports: [
          { protocol: 'TCP', ports: [{ first: 0, last: 4 }] },
          { protocol: 'TCP', ports: [{ first: 9, last: 65_535 }] },
        ],
      },
    ])
    expect(
      modelOf(policy(ports({ port: 70_000 })))
        .content.policyChains.values()
        .next().value?.rules,
    ).toEqual([])
  })
})

describe('Pods that change', () => {
  const byFar = policy(from({ podSelector: apps('far') }))
  const far = (given: TestPod) => pod('x/far', { node: 'node-2', ...given })

  test('labels, address and node', () => {
    const model = modelOf(byFar)
    expect(isAdmitted(model)).toBe(true)
    model.apply([far({ ips: [FAR], labels: {} })])
    expect(isAdmitted(model)).toBe(false)
    model.apply([far({ ips: ['10.0.1.7'] })])
    expect(isAdmitted(model)).toBe(false)
    expect(isAdmitted(model, { from: '10.0.1.7' })).toBe(true)
    model.apply([pod('x/web', { ips: [WEB], node: 'node-2' })])
    expect(isAdmitted(model, { from: OUTSIDE })).toBe(true)
    expect(model.content.pods.ingress.has(parseIp(WEB)!)).toBe(false)
  })

  test.each<[string, TestPod, TestPod, string]>([
    ['not being deleted', { deleted: '2026-01-01T00:00:00Z' }, {}, 'x/b'],
    ['newer', { created: '2026-01-02T00:00:00Z' }, { created: '2026-01-01T00:00:00Z' }, 'x/a'],
    [
      'not deleted rather than newer',
      { created: '2026-01-02T00:00:00Z', deleted: '2026-01-03T00:00:00Z' },
      { created: '2026-01-01T00:00:00Z' },
      'x/b',
    ],
    ['first by name', {}, {}, 'x/a'],
  ])('of two Pods with one address the one that is %s has it', (_, a, b, expected) => {
    const own = '10.0.0.9'
    const events = [pod('x/a', { ips: [own], ...a }), pod('x/b', { ips: [own], ...b })]
    for (const order of [events, events.toReversed()]) {
      const model = modelOf(policy({ podSelector: apps('a') }), ...order)
      expect(isAdmitted(model, { to: own })).toBe(expected === 'x/b')
      expect(model.podAt(parseIp(own)!)).toBe(expected)
      model.apply([pod(expected)])
      expect(model.podAt(parseIp(own)!)).toBe(expected === 'x/a' ? 'x/b' : 'x/a')
      expect(isAdmitted(model, { to: own })).toBe(expected === 'x/a')
    }
  })
})

describe('what nothing needs', () => {
  test('is gone with the policy', () => {
    const model = modelOf(
      policy({
        ingress: [
          {
            from: [{ podSelector: {} }, { ipBlock: { cidr: '10.0.0.0/8' } }],
            ports: [{ port: 'http' }],
          },
        ],
      }),
    )
    model.takeChanges()
    expect(model.content.sets.size).toBe(3)
    model.apply([{ kind: 'policy', key: 'x/p', value: undefined }])
    model.takeChanges()
    const { sets, policyChains, podChains, pods } = model.content
    expect([sets.size, policyChains.size, podChains.size]).toEqual([0, 0, 0])
    expect(new Set(pods.ingress.values())).toEqual(new Set(['accept']))
  })

  test('is gone with the last Pod of this node that needs it, and back with the next', () => {
    const model = modelOf(policy({ podSelector: apps('web'), ...from({ podSelector: {} }) }))
    const sizes = () => {
      model.takeChanges()
      const { sets, policyChains, podChains } = model.content
      return [sets.size, policyChains.size, podChains.size]
    }
    expect(sizes()).toEqual([1, 1, 1])
    model.apply([{ kind: 'pod', key: 'x/web', value: undefined }])
    expect(sizes()).toEqual([0, 0, 0])
    model.apply([pod('x/web', { ips: [WEB] })])
    expect(sizes()).toEqual([1, 1, 1])
    model.apply([pod('x/web', { ips: [] })])
    expect(sizes()).toEqual([0, 0, 0])
  })

  test('a policy that is gone and back at once is as new', () => {
    const model = modelOf(policy({}))
    model.takeChanges()
    model.apply([
      { kind: 'policy', key: 'x/p', value: undefined },
      policy(from({ podSelector: {} })),
    ])
    expect(isAdmitted(model)).toBe(true)
    expect(isAdmitted(model, { from: OUTSIDE })).toBe(false)
    expect([...model.takeChanges().chains]).toHaveLength(1)
  })

  test('rules with the same selector share a set', () => {
    const model = modelOf(
      policy(from({ namespaceSelector: { matchLabels: { a: '1', b: '2' } } })),
      policy(from({ namespaceSelector: { matchLabels: { b: '2', a: '1' } } }), 'x/q'),
    )
    expect(model.content.sets.size).toBe(1)
  })
})

test('an event that says what is known already changes nothing', () => {
  const model = modelOf(policy(ports({ port: 'http' })))
  model.takeChanges()
  model.apply([...CLUSTER, policy(ports({ port: 'http' }))])
  expect(model.takeChanges()).toEqual({
    sets: new Set(),
    members: new Map(),
    chains: new Set(),
    pods: { ingress: new Set<IpAddress>(), egress: new Set<IpAddress>() },
    hasLocalRanges: false,
    isNarrower: false,
  })
})

test('a Pod whose unrelated fields change, and that has a name of a port, withdraws nothing', () => {
  const model = modelOf(policy(ports({ port: 'http' })))
  model.takeChanges()
  model.apply([pod('x/cart', { ips: [CART], created: '2026-01-01T00:00:00Z' })])
  expect(model.takeChanges()).toMatchObject({ isNarrower: false, members: new Map([]) })
})

test('the ranges of the node are part of the content', () => {
  const model = modelOf({ kind: 'node', podCIDRs: ['10.0.0.0/24' as Cidr] })
  expect(model.takeChanges().hasLocalRanges).toBe(true)
  expect(model.content.localRanges).toEqual(['10.0.0.0/24'])
})
