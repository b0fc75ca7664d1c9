import type { Transport } from '../agent/protocol.ts'
import type { Peer, Policy, PolicySet, Rule, Selector } from './policy-set.ts'
import { PODS } from './universe.ts'

const ALL: Selector = {}
const pod = (...names: readonly string[]): Selector =>
  names.length === 1
    ? { matchLabels: { pod: names[0] ?? '' } }
    : { matchExpressions: [{ key: 'pod', operator: 'In', values: names }] }
const NAME = 'kubernetes.io/metadata.name'
const space = (name: string): Selector => ({ matchLabels: { [NAME]: name } })
const spaceBy = (operator: 'In' | 'NotIn', ...values: readonly string[]): Selector => ({
  matchExpressions: [{ key: NAME, operator, values }],
})

/** A policy for ingress of Pods of namespace x. */
function ingress(name: string, podSelector: Selector, ...rules: readonly Rule[]): Policy {
  return {
    metadata: { namespace: 'x', name },
    spec: { podSelector, policyTypes: ['Ingress'], ingress: rules },
  }
}

/** A policy for egress of Pods of namespace x. */
function egress(name: string, podSelector: Selector, ...rules: readonly Rule[]): Policy {
  return {
    metadata: { namespace: 'x', name },
    spec: { podSelector, policyTypes: ['Egress'], egress: rules },
  }
}

const DENY_ALL: Policy = {
  metadata: { namespace: 'x', name: 'deny-all' },
  spec: { podSelector: ALL, policyTypes: ['Ingress', 'Egress'] },
}
const from = (...peers: readonly Peer[]): Rule => ({ from: peers })
const to = (...peers: readonly Peer[]): Rule => ({ to: peers })
const fromYOn = (port: number | string, protocol: Transport): Rule => ({
  from: [{ namespaceSelector: space('y') }],
  ports: [{ protocol, port }],
})
const Y_A: Peer = { namespaceSelector: space('y'), podSelector: pod('a') }
const hosts = (key: string): readonly string[] => {
  const { ips } = PODS.find((one) => one.key === key)!
  return [`${ips[4]}/32`, `${ips[6]}/128`]
}
const blocks = (cidrs: readonly string[]): readonly Peer[] =>
  cidrs.map((cidr) => ({ ipBlock: { cidr } }))
/** The /4 around each family's Pods, without one Pod. */
const around = (key: string): readonly Peer[] => {
  const [v4 = '', v6 = ''] = hosts(key)
  return [
    { ipBlock: { cidr: '0.0.0.0/4', except: [v4] } },
    { ipBlock: { cidr: 'f000::/4', except: [v6] } },
  ]
}

function alike(protocol: Transport): readonly PolicySet[] {
  return [
    {
      name: `${protocol}: should support a 'default-deny-ingress' policy`,
      policies: [ingress('deny-ingress', ALL)],
    },
    {
      name: `${protocol}: should enforce policy based on Ports`,
      policies: [ingress('port-81', pod('a'), fromYOn(81, protocol))],
    },
    {
      name: `${protocol}: should enforce policy to allow traffic only from a pod in a different namespace based on PodSelector and NamespaceSelector`,
      policies: [ingress('from-y-a', pod('a'), from(Y_A))],
    },
  ]
}

/**
 * The cases of Kubernetes' end-to-end tests of NetworkPolicies, by name. What a case does one after the other is one
 * set each, in the same order. Its default labels of namespaces have the name that its namespaces have there.
 */
export const UPSTREAM_SETS: readonly PolicySet[] = [
  ...alike('TCP'),
  { name: "should support a 'default-deny-all' policy", policies: [DENY_ALL] },
  {
    name: 'should enforce policy to allow traffic from pods within server namespace based on PodSelector',
    policies: [ingress('from-b', pod('a'), from({ podSelector: pod('b') }))],
  },
  {
    name: 'should enforce policy to allow ingress traffic for a target',
    policies: [
      ingress('deny-ingress', ALL),
      ingress('to-a', pod('a'), from({ podSelector: ALL, namespaceSelector: ALL })),
    ],
  },
  {
    name: 'should enforce policy to allow ingress traffic from pods in all namespaces',
    policies: [ingress('all-namespaces', pod('a'), from({ namespaceSelector: ALL }))],
  },
  {
    name: 'should enforce policy to allow traffic only from a different namespace, based on NamespaceSelector',
    policies: [ingress('from-y', pod('a'), from({ namespaceSelector: space('y') }))],
  },
  {
    name: 'should enforce policy based on PodSelector with MatchExpressions',
    policies: [
      ingress(
        'from-b',
        pod('a'),
        from({
          podSelector: { matchExpressions: [{ key: 'pod', operator: 'In', values: ['b'] }] },
        }),
      ),
    ],
  },
  {
    name: 'should enforce policy based on NamespaceSelector with MatchExpressions',
    policies: [ingress('from-y', pod('a'), from({ namespaceSelector: spaceBy('In', 'y') }))],
  },
  {
    name: 'should enforce policy based on PodSelector or NamespaceSelector',
    policies: [
      ingress(
        'either',
        pod('a'),
        from({ namespaceSelector: spaceBy('NotIn', 'x') }, { podSelector: pod('b') }),
      ),
    ],
  },
  {
    name: 'should enforce policy based on PodSelector and NamespaceSelector',
    policies: [
      ingress(
        'both',
        pod('a'),
        from({ namespaceSelector: spaceBy('NotIn', 'x'), podSelector: pod('b') }),
      ),
    ],
  },
  {
    name: 'should enforce policy based on Multiple PodSelectors and NamespaceSelectors',
    policies: [
      ingress(
        'several',
        pod('a'),
        from({ namespaceSelector: spaceBy('NotIn', 'x'), podSelector: pod('b', 'c') }),
      ),
    ],
  },
  {
    name: 'should enforce policy based on any PodSelectors',
    policies: [
      ingress('b-or-c', pod('a'), from({ podSelector: pod('b') }, { podSelector: pod('c') })),
    ],
  },
  {
    name: 'should enforce multiple, stacked policies with overlapping podSelectors: port 81',
    policies: [ingress('port-81', pod('a'), fromYOn(81, 'TCP'))],
  },
  {
    name: 'should enforce multiple, stacked policies with overlapping podSelectors: port 80 added',
    policies: [
      ingress('port-81', pod('a'), fromYOn(81, 'TCP')),
      ingress('port-80', pod('a'), fromYOn(80, 'TCP')),
    ],
  },
  { name: 'should support allow-all policy', policies: [ingress('allow-all', ALL, {})] },
  {
    name: 'should allow ingress access on one named port',
    policies: [ingress('named', ALL, { ports: [{ port: 'serve-81-tcp' }] })],
  },
  {
    name: 'should allow ingress access from namespace on one named port',
    policies: [ingress('named', pod('a'), fromYOn('serve-80-tcp', 'TCP'))],
  },
  {
    name: 'should allow egress access on one named port',
    policies: [egress('named', ALL, { ports: [{ port: 'serve-80-tcp' }] })],
  },
  {
    name: 'should enforce updated policy: before',
    policies: [ingress('mutated', ALL, {})],
  },
  { name: 'should enforce updated policy: after', policies: [ingress('mutated', ALL)] },
  {
    name: 'should allow ingress access from updated namespace: before',
    policies: [
      ingress(
        'updated',
        pod('a'),
        from({ namespaceSelector: { matchLabels: { ns2: 'updated' } } }),
      ),
    ],
  },
  {
    name: 'should allow ingress access from updated namespace: after',
    policies: [
      ingress(
        'updated',
        pod('a'),
        from({ namespaceSelector: { matchLabels: { ns2: 'updated' } } }),
      ),
    ],
    namespaceLabels: { y: { ns2: 'updated' } },
  },
  {
    name: 'should allow ingress access from updated pod: before',
    policies: [
      ingress(
        'updated',
        pod('a'),
        from({ podSelector: { matchLabels: { pod: 'b', pod2: 'updated' } } }),
      ),
    ],
  },
  {
    name: 'should allow ingress access from updated pod: after',
    policies: [
      ingress(
        'updated',
        pod('a'),
        from({ podSelector: { matchLabels: { pod: 'b', pod2: 'updated' } } }),
      ),
    ],
    podLabels: { 'x/b': { pod2: 'updated' } },
  },
  {
    name: 'should deny ingress from pods on other namespaces',
    policies: [ingress('own', ALL, from({ podSelector: {} }))],
  },
  {
    name: 'should deny ingress access to updated pod: before',
    policies: [ingress('isolated', { matchLabels: { target: 'isolated' } })],
  },
  {
    name: 'should deny ingress access to updated pod: after',
    policies: [ingress('isolated', { matchLabels: { target: 'isolated' } })],
    podLabels: { 'x/a': { target: 'isolated' } },
  },
  {
    name: 'should deny egress from pods based on PodSelector',
    policies: [egress('deny-egress-of-a', pod('a'))],
  },
  {
    name: 'should deny egress from all pods in a namespace',
    policies: [egress('deny-egress', ALL)],
  },
  {
    name: 'should work with Ingress, Egress specified together',
    policies: [
      {
        metadata: { namespace: 'x', name: 'together' },
        spec: {
          podSelector: pod('a'),
          policyTypes: ['Egress', 'Ingress'],
          ingress: [from({ podSelector: pod('b') })],
          egress: [{ ports: [{ port: 80 }] }],
        },
      },
    ],
  },
  {
    name: 'should support denying of egress traffic on the client side (even if the server explicitly allows this traffic)',
    policies: [
      egress('to-y-a', pod('a'), to(Y_A)),
      ...['a', 'b'].map((name) => ({
        metadata: { namespace: 'y', name: `to-${name}` },
        spec: {
          podSelector: pod(name),
          ingress: [from({ namespaceSelector: space('x'), podSelector: pod('a') })],
        },
      })),
    ],
  },
  {
    name: 'should enforce egress policy allowing traffic to a server in a different namespace based on PodSelector and NamespaceSelector',
    policies: [egress('to-y-a', pod('a'), to(Y_A))],
  },
  {
    name: 'should enforce ingress policy allowing any port traffic to a server on a specific protocol',
    policies: [ingress('tcp', pod('a'), { ports: [{ protocol: 'TCP' }] })],
  },
  {
    name: 'should enforce multiple ingress policies with ingress allow-all policy taking precedence: before',
    policies: [ingress('port-80', ALL, { ports: [{ port: 80 }] })],
  },
  {
    name: 'should enforce multiple ingress policies with ingress allow-all policy taking precedence: after',
    policies: [ingress('port-80', ALL, { ports: [{ port: 80 }] }), ingress('all', ALL, {})],
  },
  {
    name: 'should enforce multiple egress policies with egress allow-all policy taking precedence: before',
    policies: [egress('port-80', ALL, { ports: [{ port: 80 }] })],
  },
  {
    name: 'should enforce multiple egress policies with egress allow-all policy taking precedence: after',
    policies: [egress('port-80', ALL, { ports: [{ port: 80 }] }), egress('all', ALL, {})],
  },
  {
    name: 'should stop enforcing policies after they are deleted: before',
    policies: [DENY_ALL],
  },
  { name: 'should stop enforcing policies after they are deleted: after', policies: [] },
  {
    name: 'should allow egress access to server in CIDR block',
    policies: [egress('to-y-b', pod('a'), to(...blocks(hosts('y/b'))))],
  },
  {
    name: 'should enforce except clause while egress access to server in CIDR block',
    policies: [egress('around-b', pod('a'), to(...around('x/b')))],
  },
  {
    name: 'should ensure an IP overlapping both IPBlock.CIDR and IPBlock.Except is allowed: before',
    policies: [egress('overlap', pod('a'), to(...around('x/b')))],
  },
  {
    name: 'should ensure an IP overlapping both IPBlock.CIDR and IPBlock.Except is allowed: after',
    policies: [
      egress('overlap', pod('a'), to(...around('x/b'))),
      egress('to-b', pod('a'), to(...blocks(hosts('x/b')))),
    ],
  },
  {
    name: 'should enforce policies to check ingress and egress policies can be controlled independently based on PodSelector: before',
    policies: [egress('egress', pod('a'), {})],
  },
  {
    name: 'should enforce policies to check ingress and egress policies can be controlled independently based on PodSelector: after',
    policies: [egress('egress', pod('a'), {}), ingress('deny-ingress', pod('a'))],
  },
  {
    name: "should not mistakenly treat 'protocol: SCTP' as 'protocol: TCP', even if the plugin doesn't support SCTP",
    policies: [
      ingress('deny-ingress', ALL),
      ingress('sctp-81', pod('a'), { ports: [{ protocol: 'SCTP', port: 81 }] }),
    ],
  },
  {
    name: "should properly isolate pods that are selected by a policy allowing SCTP, even if the plugin doesn't support SCTP",
    policies: [ingress('sctp-80', pod('a'), { ports: [{ protocol: 'SCTP', port: 80 }] })],
  },
  {
    name: 'should not allow access by TCP when a policy specifies only UDP',
    policies: [ingress('udp-81', pod('a'), { ports: [{ protocol: 'UDP', port: 81 }] })],
  },
  {
    name: 'should enforce policy to allow traffic based on NamespaceSelector with MatchLabels using default ns label',
    policies: [ingress('from-y', pod('a'), from({ namespaceSelector: space('y') }))],
  },
  {
    name: 'should enforce policy based on NamespaceSelector with MatchExpressions using default ns label',
    policies: [egress('not-to-y', pod('a'), to({ namespaceSelector: spaceBy('NotIn', 'y') }))],
  },
  ...alike('UDP'),
  ...alike('SCTP'),
  {
    name: 'should enforce egress policy with a range of ports (endPort)',
    policies: [egress('range', pod('a'), { ports: [{ port: 80, endPort: 81 }] })],
  },
  {
    name: 'should enforce ingress policy with a range of ports (endPort), for each protocol',
    policies: [
      ingress('range', ALL, {
        ports: [
          { port: 81, endPort: 90 },
          { protocol: 'UDP', port: 1, endPort: 65_535 },
          { protocol: 'SCTP', port: 82, endPort: 8080 },
        ],
      }),
    ],
  },
]
