import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseIp } from '../lib/ip.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Protocol } from '../resources/types.ts'
import { type ConnectionEnd, judgeConnection } from './judge-connection.ts'
import { readPolicyPod } from './network-policy.ts'
import { readClusterPolicy } from './read-cluster-policy.ts'
import { readPolicy } from './read-policy.ts'
import {
  allowedConnections,
  type TestClusterPolicy,
  type TestClusterRule,
  type TestEnd,
  type TestPolicy,
  type TestUniverse,
} from './testing/allowed-connections.ts'

const UNIVERSE: TestUniverse = {
  namespaces: { x: { team: 'a' }, y: { team: 'b', env: 'p' } },
  ends: [
    { name: 'x/a', namespace: 'x', ip: '10.0.0.1', labels: { app: 'a' }, named: { 'TCP/web': 80 } },
    { name: 'x/b', namespace: 'x', ip: '10.0.0.2', labels: { app: 'b', env: 'p' } },
    { name: 'y/a', namespace: 'y', ip: '10.0.1.1', labels: { app: 'a' }, named: { 'UDP/web': 81 } },
    { name: 'y/none', namespace: 'y', ip: '10.0.1.2' },
    { name: 'outside', ip: '203.0.113.9' },
    { name: 'elsewhere', ip: '198.51.100.1' },
  ],
  protocols: ['TCP', 'UDP'],
  ports: [80, 81, 82],
}

const selector = fc.constantFrom(
  {},
  { matchLabels: { app: 'a' } },
  { matchLabels: { app: 'b', env: 'p' } },
  { matchLabels: { team: 'a' } },
  { matchLabels: { env: 'p' } },
)
const block = fc.record(
  {
    cidr: fc.constantFrom('0.0.0.0/0', '10.0.0.0/24', '10.0.0.0/8', '203.0.113.9/32'),
    except: fc.subarray(['10.0.0.2/32', '10.0.1.0/24', '203.0.113.8/29']),
  },
  { requiredKeys: ['cidr'] },
)
const peer = fc.oneof(
  fc.record({ podSelector: selector }),
  fc.record({ namespaceSelector: selector }),
  fc.record({ namespaceSelector: selector, podSelector: selector }),
  fc.record({ ipBlock: block }),
)
const port = fc.oneof(
  fc.record(
    { protocol: fc.constantFrom('TCP', 'UDP'), port: fc.constantFrom(80, 81, 'web', 'none') },
    { requiredKeys: [] },
  ),
  fc.record({ port: fc.constantFrom(79, 80, 81), endPort: fc.constantFrom(81, 82) }),
)
const rulesOf = (peers: 'from' | 'to') =>
  fc.array(
    fc.record(
      { [peers]: fc.array(peer, { maxLength: 2 }), ports: fc.array(port, { maxLength: 2 }) },
      { requiredKeys: [] },
    ),
    { maxLength: 2 },
  )
const policy: fc.Arbitrary<TestPolicy> = fc.record({
  metadata: fc.record({ namespace: fc.constantFrom('x', 'y'), name: fc.constantFrom('p', 'q') }),
  spec: fc.record(
    {
      podSelector: selector,
      policyTypes: fc.subarray(['Ingress', 'Egress']),
      ingress: rulesOf('from'),
      egress: rulesOf('to'),
    },
    { requiredKeys: ['podSelector'] },
  ),
})

const clusterPods = fc.oneof(
  fc.record({ namespaces: selector }),
  fc.record({ pods: fc.record({ namespaceSelector: selector, podSelector: selector }) }),
)
const networks = fc.record({
  networks: fc.subarray(['0.0.0.0/0', '10.0.0.0/24', '203.0.113.9/32'], { minLength: 1 }),
})
const destinationPort = fc.oneof(
  fc.record({ number: fc.constantFrom(80, 81) }),
  fc.record({ range: fc.record({ start: fc.constantFrom(79, 80), end: fc.constantFrom(81, 82) }) }),
)
const protocols = fc.array(
  fc.oneof(
    fc.record({ tcp: fc.record({ destinationPort }) }),
    fc.record({ udp: fc.record({ destinationPort }) }),
    fc.record({ destinationNamedPort: fc.constantFrom('web', 'none') }),
  ),
  { minLength: 1, maxLength: 2 },
)
const action = fc.constantFrom<TestClusterRule['action']>('Accept', 'Deny', 'Pass')
const clusterRules = (
  direction: 'ingress' | 'egress',
): fc.Arbitrary<readonly TestClusterRule[]> => {
  const of = direction === 'ingress' ? clusterPods : fc.oneof(clusterPods, networks)
  const rule = fc.tuple(
    action,
    fc.array(of, { minLength: 1, maxLength: 2 }),
    fc.option(protocols, { nil: undefined }),
  )
  return fc.array(
    rule.map(([decided, peers, ports]) => ({
      action: decided,
      ...(direction === 'ingress' ? { from: peers } : { to: peers }),
      ...(ports && { protocols: ports }),
    })),
    { maxLength: 3 },
  )
}
const clusterPolicies: fc.Arbitrary<readonly TestClusterPolicy[]> = fc.uniqueArray(
  fc.record({
    metadata: fc.record({ name: fc.constantFrom('c', 'd', 'e') }),
    spec: fc.record({
      tier: fc.constantFrom<'Admin' | 'Baseline'>('Admin', 'Baseline'),
      priority: fc.constantFrom(0, 7, 1_000),
      subject: clusterPods,
      ingress: clusterRules('ingress'),
      egress: clusterRules('egress'),
    }),
  }),
  { selector: ({ metadata }) => metadata.name, maxLength: 3 },
)

function endOf({ name, ip, namespace, labels = {}, named = {} }: TestEnd): ConnectionEnd {
  const containerPorts = Object.entries(named).map(([key, containerPort]) => {
    const [protocol = '', portName = ''] = key.split('/')
    return { name: portName, protocol, containerPort }
  })
  const object = {
    metadata: { namespace: namespace ?? '', name: name.split('/')[1] ?? '', labels: { ...labels } },
    spec: { containers: [{ ports: containerPorts }] },
  }
  const pod =
    namespace === undefined
      ? undefined
      : readPolicyPod(object, { ...UNIVERSE.namespaces[namespace] })
  return { ip: parseIp(ip)!, pod, node: undefined }
}

const ENDS = UNIVERSE.ends.map((end) => ({ name: end.name, end: endOf(end) }))

function admitted(
  policies: readonly TestPolicy[],
  cluster: readonly TestClusterPolicy[],
): ReadonlySet<string> {
  const read = [
    ...policies.map((one) => readPolicy(structuredClone(one) as unknown as JsonObject)),
    ...cluster.map((one) => {
      const { policy: found, problems } = readClusterPolicy(
        structuredClone(one) as unknown as JsonObject,
      )
      expect(problems).toEqual([])
      return found
    }),
  ]
  const found = new Set<string>()
  for (const source of ENDS) {
    for (const target of ENDS) {
      for (const protocol of UNIVERSE.protocols as readonly Protocol[]) {
        for (const number of UNIVERSE.ports) {
          const connection = { source: source.end, destination: target.end, protocol, port: number }
          if (judgeConnection(read, connection).isAdmitted)
            found.add(`${source.name}>${target.name} ${protocol}/${number}`)
        }
      }
    }
  }
  return found
}

test('connections are admitted that an enumeration of all rules admits, and no other', () => {
  const all = ENDS.length ** 2 * UNIVERSE.protocols.length * UNIVERSE.ports.length
  let partly = 0
  fc.assert(
    fc.property(fc.array(policy, { maxLength: 4 }), clusterPolicies, (policies, cluster) => {
      const expected = new Set(
        [...allowedConnections(UNIVERSE, policies, cluster)].filter((one) => /\/8[0-2]$/.test(one)),
      )
      const found = admitted(policies, cluster)
      if (found.size > 0 && found.size < all) partly++
      expect(found.symmetricDifference(expected)).toEqual(new Set())
    }),
    { numRuns: 500 },
  )
  // Many random policies decide something.
  expect(partly).toBeGreaterThan(150)
})
