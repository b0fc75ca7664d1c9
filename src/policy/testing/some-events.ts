import fc from 'fast-check'
import { type Cidr, parseIp } from '../../lib/ip.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { readClusterPolicy } from '../../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../../networkpolicy/read-policy.ts'
import type { PolicyEvent } from '../policy-content.ts'

/** The node whose Pods are isolated. */
export const NODE = 'node-1'
export const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const
const NAMES = ['x/a', 'x/b', 'x/c', 'y/a', 'y/b', 'z/a'] as const
const NAMESPACES = ['x', 'y', 'z'] as const

const labels = fc.constantFrom<Json>(
  {},
  { app: 'a' },
  { app: 'b' },
  { app: 'b', env: 'p' },
  { env: 'p' },
)
const selector = fc.constantFrom<Json>(
  {},
  { matchLabels: { app: 'a' } },
  { matchLabels: { app: 'b', env: 'p' } },
  { matchExpressions: [{ key: 'env', operator: 'Exists' }] },
  { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['a'] }] },
)
const block = fc.record(
  {
    cidr: fc.constantFrom(
      '0.0.0.0/0',
      '10.0.0.0/24',
      '10.0.0.0/8',
      '203.0.113.9/32',
      '2001:db8::/32',
    ),
    except: fc.subarray([
      '10.0.0.2/32',
      '10.0.0.0/29',
      '10.0.1.0/24',
      '203.0.113.8/29',
      '2001:db8::8/125',
    ]),
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
    { protocol: fc.constantFrom(...PROTOCOLS), port: fc.constantFrom(80, 81, 'web', 'none') },
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
const spec = fc.record(
  {
    podSelector: selector,
    policyTypes: fc.subarray(['Ingress', 'Egress']),
    ingress: rulesOf('from'),
    egress: rulesOf('to'),
  },
  { requiredKeys: ['podSelector'] },
)
const policyEvent: fc.Arbitrary<PolicyEvent> = fc
  .record({
    namespace: fc.constantFrom('x', 'y'),
    name: fc.constantFrom('p', 'q'),
    spec: fc.option(spec, { freq: 4 }),
  })
  .map(({ namespace, name, spec: written }) => {
    const object = { metadata: { namespace, name }, spec: written as unknown as JsonObject }
    const value = written === null ? undefined : readPolicy(structuredClone(object))
    return { kind: 'policy', key: `${namespace}/${name}`, value }
  })
const clusterPods = fc.oneof(
  fc.record({ namespaces: selector }),
  fc.record({ pods: fc.record({ namespaceSelector: selector, podSelector: selector }) }),
)
const networks = fc.record({
  networks: fc.subarray(['10.0.0.0/29', '203.0.113.9/32', '2001:db8::/32'], { minLength: 1 }),
})
const clusterProtocol = fc.constantFrom<JsonObject>(
  { tcp: { destinationPort: { number: 80 } } },
  { udp: { destinationPort: { range: { start: 80, end: 81 } } } },
  { destinationNamedPort: 'web' },
)
const clusterRule = (peers: 'from' | 'to') => {
  const one = peers === 'from' ? clusterPods : fc.oneof(clusterPods, networks)
  // An unknown field, so that the rule cannot be read.
  const unknown = fc.constant({ serviceAccounts: {} })
  const of = fc.oneof({ arbitrary: one, weight: 9 }, { arbitrary: unknown, weight: 1 })
  return fc.record({
    action: fc.constantFrom('Accept', 'Deny', 'Pass'),
    [peers]: fc.array(of as fc.Arbitrary<unknown>, { minLength: 1, maxLength: 2 }),
    protocols: fc.array(clusterProtocol, { maxLength: 2 }),
  })
}
const clusterSpec = fc.record({
  tier: fc.constantFrom('Admin', 'Baseline'),
  priority: fc.constantFrom(0, 1, 2),
  subject: clusterPods,
  ingress: fc.array(clusterRule('from'), { maxLength: 2 }),
  egress: fc.array(clusterRule('to'), { maxLength: 2 }),
})
const clusterPolicyEvent: fc.Arbitrary<PolicyEvent> = fc
  .record({ key: fc.constantFrom('c', 'd', 'e'), spec: fc.option(clusterSpec, { freq: 4 }) })
  .map(({ key, spec: written }) => {
    const object = { metadata: { name: key }, spec: written as unknown as JsonObject }
    const read = written && readClusterPolicy(structuredClone(object)).policy
    return { kind: 'clusterPolicy', key, value: read ?? undefined }
  })
const namedPort = fc.record({
  name: fc.constantFrom('web', 'other'),
  protocol: fc.constantFrom('TCP', 'UDP'),
  port: fc.constantFrom(80, 81, 82),
})
const podEvent: fc.Arbitrary<PolicyEvent> = fc
  .record({
    key: fc.constantFrom(...NAMES),
    isThere: fc.boolean(),
    labels,
    address: fc.integer({ min: 1, max: 9 }),
    isDual: fc.boolean(),
    nodeName: fc.constantFrom(NODE, NODE, 'node-2'),
    isBeingDeleted: fc.boolean(),
    createdAt: fc.constantFrom(0, 1),
    namedPorts: fc.array(namedPort, { maxLength: 2 }),
  })
  .map(({ key, isThere, address, isDual, ...rest }) => {
    const ips = [`10.0.0.${address}`, ...(isDual ? [`2001:db8::${address}`] : [])]
    const namespace = key.slice(0, 1)
    const value = { key, namespace, ips: ips.map((ip) => parseIp(ip)!), ...rest }
    return { kind: 'pod', key, value: isThere ? value : undefined }
  })
const namespaceEvent: fc.Arbitrary<PolicyEvent> = fc
  .record({ name: fc.constantFrom(...NAMESPACES), labels: fc.option(labels) })
  .map(({ name, labels: written }) => ({ kind: 'namespace', name, labels: written ?? undefined }))
const nodeEvent: fc.Arbitrary<PolicyEvent> = fc
  .subarray(['10.0.0.0/24', '2001:db8::/64'] as Cidr[])
  .map((podCIDRs) => ({ kind: 'node', podCIDRs }))
const event = fc.oneof(
  { arbitrary: policyEvent, weight: 4 },
  { arbitrary: clusterPolicyEvent, weight: 3 },
  { arbitrary: podEvent, weight: 6 },
  { arbitrary: namespaceEvent, weight: 2 },
  { arbitrary: nodeEvent, weight: 1 },
)
/** What happens in a small cluster, in which each part is met often. */
export const history = fc.array(event, { minLength: 5, maxLength: 40 })
