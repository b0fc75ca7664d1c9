import { describe, expect, test } from 'vitest'
import { parseIp } from '../lib/ip.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import { type ConnectionEnd, judgeConnection } from './judge-connection.ts'
import { readPolicyPod } from './network-policy.ts'
import { readClusterPolicy } from './read-cluster-policy.ts'
import { readPolicy } from './read-policy.ts'

function pod(key: string, address: string, spec: JsonObject = {}): ConnectionEnd {
  const [namespace = '', name = ''] = key.split('/')
  const object = { metadata: { namespace, name, labels: { app: name } }, spec }
  return { ip: parseIp(address)!, pod: readPolicyPod(object, { name: namespace }), node: 'n1' }
}

const ports = [{ name: 'http', containerPort: 8080 }]
const web = pod('shop/web', '10.0.0.1', { containers: [{ ports }] })
const cart = pod('shop/cart', '10.0.0.2')
const foreign = pod('other/cart', '10.0.1.2')
const outside: ConnectionEnd = { ip: parseIp('203.0.113.9')!, pod: undefined, node: undefined }
const node: ConnectionEnd = { ip: parseIp('192.168.0.2')!, pod: undefined, node: 'n1' }

const SHOP = { namespaces: { matchLabels: { name: 'shop' } } }
const ALL = { namespaces: {} }

function policy(name: string, spec: JsonObject): JsonObject {
  return { metadata: { name }, spec: { tier: 'Admin', priority: 10, subject: SHOP, ...spec } }
}

const rule = (action: string, more: JsonObject = {}): JsonObject => ({
  action,
  from: [ALL],
  ...more,
})
const ingress = (name: string, action: string, spec: JsonObject = {}) =>
  policy(name, { ingress: [rule(action)], ...spec })

const networkPolicy = (rules: JsonObject): JsonObject => ({
  metadata: { namespace: 'shop', name: 'np' },
  spec: { podSelector: {}, ...rules },
})
const CLOSED = networkPolicy({})
const OPEN = networkPolicy({ ingress: [{}] })

function judge(objects: readonly JsonObject[], from = cart, to = web, port = 8080) {
  const policies = objects.map((one) =>
    'tier' in (one['spec'] as JsonObject) ? readClusterPolicy(one).policy : readPolicy(one),
  )
  return judgeConnection(policies, { source: from, destination: to, port, protocol: 'TCP' })
}

describe('tiers', () => {
  test.each<[string, readonly JsonObject[], boolean]>([
    ['Deny of Admin beats a NetworkPolicy', [ingress('a', 'Deny'), OPEN], false],
    ['Accept of Admin beats a NetworkPolicy', [ingress('a', 'Accept'), CLOSED], true],
    ['Pass leads to NetworkPolicies that admit', [ingress('a', 'Pass'), OPEN], true],
    ['Pass leads to NetworkPolicies that do not', [ingress('a', 'Pass'), CLOSED], false],
    [
      'Pass skips the rest of the tier',
      [ingress('a', 'Pass', { priority: 1 }), ingress('b', 'Deny')],
      true,
    ],
    [
      'Pass leads on to Baseline',
      [ingress('a', 'Pass'), ingress('b', 'Deny', { tier: 'Baseline' })],
      false,
    ],
    [
      'Baseline denies where no NetworkPolicy isolates',
      [ingress('b', 'Deny', { tier: 'Baseline' })],
      false,
    ],
    [
      'Baseline is not judged where one does',
      [ingress('b', 'Deny', { tier: 'Baseline' }), OPEN],
      true,
    ],
    ['Baseline opens nothing', [ingress('b', 'Accept', { tier: 'Baseline' }), CLOSED], false],
    ['what nothing decides is admitted', [ingress('a', 'Pass')], true],
    [
      'the lower priority is first',
      [ingress('a', 'Deny', { priority: 2 }), ingress('b', 'Accept', { priority: 1 })],
      true,
    ],
    ['equal priorities are judged by name', [ingress('b', 'Accept'), ingress('a', 'Deny')], false],
    [
      'the first rule of a policy is first',
      [policy('a', { ingress: [rule('Accept'), rule('Deny')] })],
      true,
    ],
    [
      'another subject',
      [ingress('a', 'Deny', { subject: { namespaces: { matchLabels: { name: 'other' } } } })],
      true,
    ],
    [
      'rules of the other direction',
      [policy('a', { egress: [{ action: 'Deny', to: [{ networks: ['192.0.2.0/24'] }] }] })],
      true,
    ],
  ])('%s', (_, objects, expected) => {
    expect(judge(objects).isAdmitted).toBe(expected)
  })

  test('the rule that decides is named', () => {
    const found = judge([
      ingress('low', 'Deny', { priority: 900 }),
      policy('a', {
        ingress: [
          rule('Accept', { from: [{ namespaces: { matchLabels: { name: 'other' } } }] }),
          rule('Deny', { name: 'no-shop' }),
        ],
      }),
      OPEN,
    ])
    expect(found.ingress).toEqual({
      direction: 'ingress',
      pod: 'shop/web',
      policies: ['shop/np'],
      clusterPolicies: ['a', 'low'],
      isAdmitted: false,
      decidedBy: { tier: 'Admin', policy: 'a', rule: 1, name: 'no-shop', action: 'Deny' },
    })
  })

  test('an egress that is accepted still has to be admitted by the destination', () => {
    const egress = policy('a', { egress: [{ action: 'Accept', to: [ALL] }] })
    expect(judge([egress, CLOSED]).isAdmitted).toBe(false)
  })

  test('a Pod reaches itself, and its node and it reach each other, whatever a tier says', () => {
    expect(judge([ingress('a', 'Deny')], web, web).isAdmitted).toBe(true)
    expect(judge([ingress('a', 'Deny')], node, web).ingress?.exempt).toBe('ownNode')
  })

  test('networks contain Pods and addresses outside', () => {
    const of = (network: string) =>
      policy('a', { egress: [{ action: 'Deny', to: [{ networks: [network] }] }] })
    expect(judge([of('203.0.113.0/24')], cart, outside).isAdmitted).toBe(false)
    expect(judge([of('10.0.1.0/24')], cart, foreign).isAdmitted).toBe(false)
    expect(judge([of('10.0.1.0/24')], cart, web).isAdmitted).toBe(true)
  })

  test.each<[string, Json, number, boolean]>([
    ['a number', [{ tcp: { destinationPort: { number: 8080 } } }], 8080, false],
    ['another number', [{ tcp: { destinationPort: { number: 80 } } }], 8080, true],
    ['another protocol', [{ udp: { destinationPort: { number: 8080 } } }], 8080, true],
    ['a range', [{ tcp: { destinationPort: { range: { start: 8000, end: 8080 } } } }], 8080, false],
    ['a name', [{ destinationNamedPort: 'http' }], 8080, false],
    ['a name of another port', [{ destinationNamedPort: 'http' }], 80, true],
  ])('protocols: %s', (_, protocols, port, expected) => {
    const denied = policy('a', { ingress: [rule('Deny', { protocols })] })
    expect(judge([denied], cart, web, port).isAdmitted).toBe(expected)
  })
})

const SCTP_80 = { sctp: { destinationPort: { number: 80 } } }

test.each<[string, JsonObject]>([
  ['the last priority', { priority: 1000 }],
  ['the first priority', { priority: 0 }],
  ['ports of SCTP', { ingress: [rule('Deny', { protocols: [SCTP_80] })] }],
  [
    'each operator of selectors',
    {
      ingress: ['In', 'NotIn', 'Exists', 'DoesNotExist'].map((operator) =>
        rule('Deny', { from: [{ namespaces: { matchExpressions: [{ key: 'a', operator }] } }] }),
      ),
    },
  ],
])('%s can be read', (_, spec) => {
  expect(readClusterPolicy(policy('a', spec)).problems).toEqual([])
})

describe('what cannot be read', () => {
  const unknown = [{ serviceAccounts: {} }]
  test.each<[string, JsonObject, string, boolean | undefined]>([
    [
      'a peer of Accept: the rule accepts nothing',
      { ingress: [rule('Accept', { from: [ALL, ...unknown] })] },
      'spec.ingress[0].from[1]',
      undefined,
    ],
    [
      'a peer of Deny: everything is denied',
      { ingress: [rule('Deny', { from: unknown })] },
      'spec.ingress[0].from[0]',
      false,
    ],
    [
      'a peer of Pass: everything is denied',
      { ingress: [rule('Pass', { from: unknown })] },
      'spec.ingress[0].from[0]',
      false,
    ],
    ['no peers', { ingress: [rule('Deny', { from: [] })] }, 'spec.ingress[0].from', false],
    ['an action', { ingress: [rule('Log')] }, 'spec.ingress[0].action', false],
    [
      'a protocol',
      { ingress: [rule('Deny', { protocols: [{ icmp: {} }] })] },
      'spec.ingress[0].protocols[0]',
      false,
    ],
    [
      'a port',
      { ingress: [rule('Accept', { protocols: [{ tcp: {} }] })] },
      'spec.ingress[0].protocols[0]',
      undefined,
    ],
    [
      'a port 0',
      { ingress: [rule('Deny', { protocols: [{ tcp: { destinationPort: { number: 0 } } }] })] },
      'spec.ingress[0].protocols[0]',
      false,
    ],
    [
      'a range backwards',
      {
        ingress: [
          rule('Deny', {
            protocols: [{ tcp: { destinationPort: { range: { start: 2, end: 1 } } } }],
          }),
        ],
      },
      'spec.ingress[0].protocols[0]',
      false,
    ],
    [
      'a selector',
      {
        ingress: [
          rule('Deny', {
            from: [{ namespaces: { matchExpressions: [{ key: 'a', operator: 'Gt' }] } }],
          }),
        ],
      },
      'spec.ingress[0].from[0].namespaces',
      false,
    ],
    ...[
      { matchLabels: { a: 'b' }, matchFields: {} },
      { matchLabels: { a: 7 } },
      { matchLabels: [] },
      { matchExpressions: {} },
    ].map((selector): [string, JsonObject, string, boolean] => [
      `a selector ${JSON.stringify(selector)}`,
      { ingress: [rule('Deny', { from: [{ namespaces: selector }] })] },
      'spec.ingress[0].from[0].namespaces',
      false,
    ]),
    [
      'networks of ingress',
      { ingress: [rule('Deny', { from: [{ networks: ['10.0.0.0/8'] }] })] },
      'spec.ingress[0].from[0]',
      false,
    ],
    [
      'two fields of a peer',
      { ingress: [rule('Deny', { from: [{ ...ALL, pods: {} }] })] },
      'spec.ingress[0].from[0]',
      false,
    ],
    ['the tier', { tier: 'Platform', ingress: [rule('Deny')] }, 'spec.tier', false],
    [
      'the tier, with Accept',
      { tier: 'Platform', ingress: [rule('Accept')] },
      'spec.tier',
      undefined,
    ],
    ['the priority', { priority: 1001, ingress: [rule('Pass')] }, 'spec.priority', false],
    [
      'the subject: no Pod is selected',
      { subject: { pods: {}, namespaces: {} }, ingress: [rule('Deny')] },
      'spec.subject',
      undefined,
    ],
  ])('%s', (_, spec, field, expected) => {
    const object = policy('a', spec)
    expect(readClusterPolicy(object).problems).toEqual([
      {
        field,
        value: expect.any(String),
        message: expect.stringContaining('until then'),
        ...(/tier|action/.test(field) && { fault: expect.anything() }),
      },
    ])
    // With each result of the NetworkPolicies, so that `undefined` says that nothing was decided.
    const decided = [OPEN, CLOSED].map((other) => judge([object, other]).isAdmitted)
    expect(decided).toEqual(expected === undefined ? [true, false] : [expected, expected])
  })

  test('a policy whose priority or tier cannot be read is judged before others', () => {
    for (const unreadable of [{ priority: 1001 }, { tier: 'Platform' }]) {
      const closed = ingress('z', 'Deny', unreadable)
      const accept = ingress('a', 'Accept', { priority: 1 })
      expect(judge([accept, closed]).ingress?.decidedBy?.policy).toBe('z')
    }
  })

  test.each([
    { nodes: {} },
    { domainNames: ['example.com'] },
    { networks: ['10.0.0.0'] },
    { networks: [] },
  ])('an egress peer that is not enforced closes: %j', (peer) => {
    const deny = policy('a', { egress: [{ action: 'Deny', to: [peer] }] })
    const accept = policy('b', { priority: 0, egress: [{ action: 'Accept', to: [peer] }] })
    expect(judge([accept, deny], cart, outside).egress?.decidedBy?.policy).toBe('a')
    expect(readClusterPolicy(accept).problems[0]?.message).toContain('accepts nothing')
  })

  test.each<Json>([
    {},
    { spec: null },
    { spec: { ingress: [null, 7], egress: 'x' } },
    { metadata: 3 },
  ])('nothing is thrown for %j', (object) => {
    expect(readClusterPolicy(object as JsonObject).problems.length).toBeGreaterThan(0)
  })
})
