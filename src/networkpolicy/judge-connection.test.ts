import { describe, expect, test } from 'vitest'
import { type IpAddress, parseIp } from '../lib/ip.ts'
import type { JsonObject } from '../lib/json.ts'
import { type ConnectionEnd, judgeConnection, type PolicyConnection } from './judge-connection.ts'
import { readPolicyPod } from './network-policy.ts'
import { readPolicy } from './read-policy.ts'

/** Two namespaces, and Pods: `shop/web` (a port `http` of 8080), `shop/cart`, `other/cart`; and an address outside. */
const NAMESPACES: Readonly<Record<string, JsonObject>> = {
  shop: { team: 'a', 'kubernetes.io/metadata.name': 'shop' },
  other: { team: 'b', 'kubernetes.io/metadata.name': 'other' },
}

function pod(key: string, address: string, spec: JsonObject = {}): ConnectionEnd {
  const [namespace = '', name = ''] = key.split('/')
  const metadata = { namespace, name, labels: { app: name } }
  return {
    ip: ip(address),
    pod: readPolicyPod({ metadata, spec }, NAMESPACES[namespace]!),
    node: 'n1',
  }
}

function ip(address: string): IpAddress {
  return parseIp(address)!
}

const PORTS = [
  { name: 'http', containerPort: 8080 },
  { name: 'dns', containerPort: 5353, protocol: 'UDP' },
  { containerPort: 9999 },
]
const web = pod('shop/web', '10.0.0.1', { containers: [{ ports: PORTS }] })
const cart = pod('shop/cart', '10.0.0.2')
const foreign = pod('other/cart', '10.0.1.2')
const outside: ConnectionEnd = { ip: ip('203.0.113.9'), pod: undefined, node: undefined }
const onNode = (node: string): ConnectionEnd => ({ ip: ip('192.168.0.2'), pod: undefined, node })

function policy(name: string, spec: JsonObject, namespace = 'shop'): JsonObject {
  return { metadata: { namespace, name }, spec: { podSelector: {}, ...spec } }
}

interface Case {
  readonly from?: ConnectionEnd
  readonly to?: ConnectionEnd
  readonly port?: number
  readonly protocol?: PolicyConnection['protocol']
}

function judge(policies: readonly JsonObject[], given: Case = {}) {
  const { from = cart, to = web, port = 8080, protocol = 'TCP' } = given
  const connection = { source: from, destination: to, port, protocol }
  return judgeConnection(policies.map(readPolicy), connection)
}

const isAdmitted = (spec: JsonObject, given: Case = {}) =>
  judge([policy('p', spec)], given).isAdmitted

describe('which Pods are isolated', () => {
  test.each<[string, JsonObject, boolean]>([
    ['no rule: nothing is admitted', {}, false],
    ['an empty rule: everything', { ingress: [{}] }, true],
    ['an empty list of rules', { ingress: [] }, false],
    ['another Pod is selected', { podSelector: { matchLabels: { app: 'cart' } } }, true],
    ['this Pod is selected', { podSelector: { matchLabels: { app: 'web' } } }, false],
    [
      'an expression selects it',
      { podSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
      false,
    ],
    [
      'a selector that cannot be read selects all, and the policy admits nothing',
      { podSelector: { matchExpressions: {} }, ingress: [{}] },
      false,
    ],
    ['of type Egress alone', { policyTypes: ['Egress'], egress: [{}] }, true],
    [
      'rules of a type that is not named',
      { policyTypes: ['Egress'], ingress: [], egress: [{}] },
      true,
    ],
    ['by default of type Ingress, too, where it has egress rules', { egress: [{}] }, false],
    ['of both types', { policyTypes: ['Ingress', 'Egress'], ingress: [{}] }, false],
    [
      'an empty list of egress rules alone isolates nothing more',
      { ingress: [{}], egress: [] },
      true,
    ],
  ])('%s', (_, spec, expected) => {
    expect(isAdmitted(spec)).toBe(expected)
  })

  test('a policy of another namespace is not theirs', () => {
    expect(judge([policy('p', {}, 'other')]).isAdmitted).toBe(true)
    expect(judge([policy('p', {}, 'other')], { to: foreign }).isAdmitted).toBe(false)
  })
})

describe('peers', () => {
  const from = (...peers: JsonObject[]) => ({ ingress: [{ from: peers }] })
  const apps = (name: string) => ({ matchLabels: { app: name } })
  const teamB = { matchLabels: { team: 'b' } }

  test.each<[string, JsonObject, ConnectionEnd, boolean]>([
    ['an empty list admits any', from(), outside, true],
    ['a Pod of the namespace', from({ podSelector: apps('cart') }), cart, true],
    ['one of another namespace', from({ podSelector: apps('cart') }), foreign, false],
    ['all of the namespace', from({ podSelector: {} }), cart, true],
    ['all of the namespace, and no address', from({ podSelector: {} }), outside, false],
    ['of a namespace', from({ namespaceSelector: teamB }), foreign, true],
    ['of all namespaces', from({ namespaceSelector: {} }), foreign, true],
    ['of all namespaces, and no address', from({ namespaceSelector: {} }), outside, false],
    ['of another namespace', from({ namespaceSelector: teamB }), cart, false],
    [
      'both of one peer must hold',
      from({ namespaceSelector: teamB, podSelector: apps('x') }),
      foreign,
      false,
    ],
    ['both hold', from({ namespaceSelector: teamB, podSelector: apps('cart') }), foreign, true],
    [
      'one of two peers',
      from({ namespaceSelector: teamB }, { podSelector: apps('x') }),
      foreign,
      true,
    ],
    ['a block', from({ ipBlock: { cidr: '203.0.113.0/24' } }), outside, true],
    ['another block', from({ ipBlock: { cidr: '203.0.114.0/24' } }), outside, false],
    ['a block of the other family', from({ ipBlock: { cidr: '::/0' } }), outside, false],
    [
      'an exception',
      from({ ipBlock: { cidr: '0.0.0.0/0', except: ['203.0.113.8/30'] } }),
      outside,
      false,
    ],
    [
      'beside an exception',
      from({ ipBlock: { cidr: '0.0.0.0/0', except: ['203.0.113.0/30'] } }),
      outside,
      true,
    ],
    [
      'what one block excepts another may admit',
      from(
        { ipBlock: { cidr: '0.0.0.0/0', except: ['203.0.113.8/30'] } },
        { ipBlock: { cidr: '203.0.113.9/32' } },
      ),
      outside,
      true,
    ],
    ['a block has Pods, too', from({ ipBlock: { cidr: '10.0.0.2/32' } }), cart, true],
    ['null is absent', from({ podSelector: apps('cart'), namespaceSelector: null }), cart, true],
    ['a peer without a field admits nothing', from({}), cart, false],
    [
      'a block that cannot be read admits nothing',
      from({ ipBlock: { cidr: 'x' } }),
      outside,
      false,
    ],
    [
      'nor does it become what else its peer names',
      from({ ipBlock: { cidr: 'x' }, podSelector: {} }),
      cart,
      false,
    ],
    ['a list that is null admits any', { ingress: [{ from: null }] }, outside, true],
    [
      'an exception that cannot be read takes its block away',
      from({ ipBlock: { cidr: '0.0.0.0/0', except: ['x'] } }),
      outside,
      false,
    ],
    [
      'exceptions that are no list do, too',
      from({ ipBlock: { cidr: '0.0.0.0/0', except: '203.0.113.9/32' } }),
      outside,
      false,
    ],
    ...[
      { podSelector: { matchExpressions: [{ key: 'x', operator: 'Lt', values: ['1'] }] } },
      { podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: 'cart' }] } },
      { podSelector: { matchExpressions: [{ operator: 'DoesNotExist' }] } },
      { podSelector: { matchExpressions: {} } },
      { podSelector: { matchFields: {} } },
      { podSelector: apps('cart'), namespaceSelector: 'shop' },
    ].map((peer): [string, JsonObject, ConnectionEnd, boolean] => [
      `a selector that cannot be read admits nothing: ${JSON.stringify(peer)}`,
      from(peer),
      cart,
      false,
    ]),
  ])('%s', (_, spec, source, expected) => {
    expect(isAdmitted(spec, { from: source })).toBe(expected)
  })
})

describe('ports', () => {
  test.each<[string, JsonObject, Case, boolean]>([
    ['the number', { port: 8080 }, {}, true],
    ['another number', { port: 80 }, {}, false],
    ['another protocol', { port: 8080, protocol: 'UDP' }, {}, false],
    ['the same protocol', { port: 8080, protocol: 'UDP' }, { protocol: 'UDP' }, true],
    ['SCTP', { protocol: 'SCTP' }, { protocol: 'SCTP' }, true],
    ['every port of TCP', { protocol: 'TCP' }, { port: 1 }, true],
    ['of TCP by default', {}, { protocol: 'UDP' }, false],
    ['a name of the Pod', { port: 'http' }, {}, true],
    ['a name of another port', { port: 'http' }, { port: 9999 }, false],
    ['a name of no port', { port: 'grpc' }, {}, false],
    ['a name, of another protocol', { port: 'dns' }, { port: 5353 }, false],
    [
      'a name, of its protocol',
      { port: 'dns', protocol: 'UDP' },
      { port: 5353, protocol: 'UDP' },
      true,
    ],
    ['the first of a range', { port: 8080, endPort: 8090 }, {}, true],
    ['the last of a range', { port: 8000, endPort: 8080 }, {}, true],
    ['below a range', { port: 8081, endPort: 8090 }, {}, false],
    ['above a range', { port: 8000, endPort: 8079 }, {}, false],
    ['a range whose end cannot be read', { port: 8080, endPort: '8090' }, {}, false],
    ['a port that is null is every port', { port: null }, { port: 1 }, true],
    ['an end that is null is none', { port: 8080, endPort: null }, {}, true],
  ])('%s', (_, port, given, expected) => {
    expect(isAdmitted({ ingress: [{ ports: [port] }] }, given)).toBe(expected)
  })

  test('an empty list admits every port; one that cannot be read admits none', () => {
    expect(isAdmitted({ ingress: [{ ports: [] }] })).toBe(true)
    expect(isAdmitted({ ingress: [{ ports: [{ port: true }] }] })).toBe(false)
    expect(isAdmitted({ ingress: [{ ports: {} }] })).toBe(false)
    expect(isAdmitted({ ingress: [{ ports: [{ protocol: 'ICMP' }] }] })).toBe(false)
    expect(isAdmitted({ ingress: [{ ports: [8080] }] })).toBe(false)
  })

  test('peer and port must be of one rule', () => {
    const peers = [{ podSelector: { matchLabels: { app: 'cart' } } }]
    const split = [
      { from: peers, ports: [{ port: 80 }] },
      { from: [{ ipBlock: { cidr: '1.0.0.0/8' } }] },
    ]
    expect(isAdmitted({ ingress: split })).toBe(false)
    expect(isAdmitted({ ingress: [...split, { from: peers, ports: [{ port: 8080 }] }] })).toBe(true)
  })

  test('every container has named ports', () => {
    const containers = [{}, { ports: PORTS }]
    const spec = { ingress: [{ ports: [{ port: 'http' }] }] }
    expect(isAdmitted(spec, { to: pod('shop/web', '10.0.0.1', { containers }) })).toBe(true)
  })

  test('a sidecar has named ports, an init container that ends has none', () => {
    const named = (restartPolicy: string) =>
      pod('shop/web', '10.0.0.1', { initContainers: [{ restartPolicy, ports: PORTS }] })
    const spec = { ingress: [{ ports: [{ port: 'http' }] }] }
    expect(isAdmitted(spec, { to: named('Always') })).toBe(true)
    expect(isAdmitted(spec, { to: named('OnFailure') })).toBe(false)
  })
})

describe('egress', () => {
  const egress = (rule: JsonObject) => ({ policyTypes: ['Egress'], egress: [rule] })

  test('names of ports are those of the destination, and an address has none', () => {
    const spec = egress({ ports: [{ port: 'http' }] })
    expect(isAdmitted(spec)).toBe(true)
    expect(isAdmitted(spec, { to: outside })).toBe(false)
  })

  test('the destination is the peer', () => {
    const to = (app: string) => egress({ to: [{ podSelector: { matchLabels: { app } } }] })
    expect(isAdmitted(to('web'))).toBe(true)
    expect(isAdmitted(to('cart'))).toBe(false)
  })

  test('egress rules isolate without policyTypes, too; where there are none, nothing does', () => {
    const admitsIn = { ingress: [{}] }
    expect(isAdmitted({ ...admitsIn, egress: [{ ports: [{ port: 80 }] }] })).toBe(false)
    expect(isAdmitted({ ...admitsIn, egress: [{ ports: [{ port: 8080 }] }] })).toBe(true)
    expect(judge([policy('p', admitsIn)]).egress).toMatchObject({ isAdmitted: true, policies: [] })
  })

  test('both ends must admit', () => {
    const opens = policy('out', egress({}))
    const closed = policy('in', { podSelector: { matchLabels: { app: 'web' } } })
    expect(judge([opens, closed])).toMatchObject({
      isAdmitted: false,
      egress: { pod: 'shop/cart', isAdmitted: true, admittedBy: { policy: 'shop/out', rule: 0 } },
      ingress: { pod: 'shop/web', isAdmitted: false, policies: ['shop/in'] },
    })
    const shut = policy('out', { policyTypes: ['Egress'] })
    expect(judge([shut]).isAdmitted).toBe(false)
    expect(judge([shut], { from: outside }).isAdmitted).toBe(true)
  })
})

describe('without any policy that admits it', () => {
  const closed = policy('closed', { policyTypes: ['Ingress', 'Egress'] })

  test('a Pod reaches itself', () => {
    const found = judge([closed], { from: web })
    expect(found).toMatchObject({ isAdmitted: true, ingress: { exempt: 'itself' } })
  })

  test('a node and its own Pods reach each other, another node does not', () => {
    expect(judge([closed], { from: onNode('n1') }).ingress).toMatchObject({ exempt: 'ownNode' })
    expect(judge([closed], { from: onNode('n2') }).isAdmitted).toBe(false)
    expect(judge([closed], { from: web, to: onNode('n1') }).egress).toMatchObject({
      exempt: 'ownNode',
    })
    expect(judge([closed], { from: web, to: onNode('n2') }).isAdmitted).toBe(false)
    const unknown = { ...outside, node: undefined }
    expect(judge([closed], { from: unknown, to: { ...web, node: undefined } }).isAdmitted).toBe(
      false,
    )
  })

  test('a Pod on the network of its node is isolated by none, and selected as no peer', () => {
    const host = pod('shop/host', '192.168.0.3', { hostNetwork: true })
    expect(judge([closed], { from: { ...host, node: 'n2' }, to: host })).toMatchObject({
      isAdmitted: true,
      egress: undefined,
      ingress: undefined,
    })
    const any = { ingress: [{ from: [{ namespaceSelector: {} }] }] }
    expect(isAdmitted(any, { from: { ...host, node: 'n2' } })).toBe(false)
  })
})

test('a block that has the address of a Pod is named as such, where nothing else admits it', () => {
  const block = { from: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }
  const byBlock = { policy: 'shop/p', rule: 0, isByPodAddress: true }
  expect(judge([policy('p', { ingress: [block] })]).ingress?.admittedBy).toEqual(byBlock)
  const both = policy('p', { ingress: [block, { from: [{ podSelector: {} }] }] })
  expect(judge([both]).ingress?.admittedBy).toEqual({ policy: 'shop/p', rule: 1 })
  const outer = policy('p', { ingress: [{ from: [{ ipBlock: { cidr: '203.0.113.0/24' } }] }] })
  expect(judge([outer], { from: outside }).ingress?.admittedBy).toEqual({
    policy: 'shop/p',
    rule: 0,
  })
})

test('policies add up, in the order of their names; a rule is named by its place', () => {
  const closed = policy('a', {})
  const opens = policy('b', { ingress: [{ ports: [{ port: 1 }] }, {}] })
  expect(judge([opens, closed]).ingress).toEqual({
    direction: 'ingress',
    pod: 'shop/web',
    clusterPolicies: [],
    isAdmitted: true,
    policies: ['shop/a', 'shop/b'],
    admittedBy: { policy: 'shop/b', rule: 1 },
  })
  expect(judge([]).ingress).toEqual({
    direction: 'ingress',
    pod: 'shop/web',
    clusterPolicies: [],
    policies: [],
    isAdmitted: true,
  })
})
