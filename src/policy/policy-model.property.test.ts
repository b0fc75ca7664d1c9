import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cidr, type IpAddress, parseIp } from '../lib/ip.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import { type AnyPolicy, type ConnectionEnd, judgeEnd } from '../networkpolicy/judge-connection.ts'
import type { Direction, PolicyRule } from '../networkpolicy/network-policy.ts'
import { readClusterPolicy } from '../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../networkpolicy/read-policy.ts'
import { selectsLabels } from '../resources/label-selector.ts'
import type { Protocol } from '../resources/types.ts'
import type { ClusterPod } from './cluster-pod.ts'
import type { PolicyChanges, PolicyEvent } from './policy-content.ts'
import { PolicyModel } from './policy-model.ts'
import { Copy, type FirstPacket, interpret } from './testing/interpret-content.ts'

/** The node whose Pods are isolated. */
const NODE = 'node-1'
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const
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
const history = fc.array(event, { minLength: 5, maxLength: 40 })
/** Whole histories, and few events after another. */
const batches = fc
  .tuple(
    fc.array(history, { minLength: 1, maxLength: 4 }),
    fc.array(fc.array(event, { minLength: 1, maxLength: 2 }), { maxLength: 12 }),
  )
  .map(([first, then]) => [...first, ...then])

const PORTS = [79, 80, 81, 82] as const
const OUTSIDE = ['203.0.113.9', '10.0.9.9', '2001:db8::9'].map((ip) => parseIp(ip)!)

/** The last event of each object. */
function lastOf(events: readonly PolicyEvent[]): readonly PolicyEvent[] {
  const keyOf = (one: PolicyEvent): string =>
    'key' in one ? `${one.kind} ${one.key}` : 'name' in one ? `namespace ${one.name}` : 'node'
  return [...new Map(events.map((one) => [keyOf(one), one])).values()]
}

/** The Pod that has an address; written again, because the model decides it step by step. */
function ownerOf(pods: readonly ClusterPod[], ip: IpAddress): ClusterPod | undefined {
  const rank = (one: ClusterPod): string =>
    `${one.isBeingDeleted ? 1 : 0} ${9 - one.createdAt} ${one.key}`
  return pods
    .filter(({ ips }) => ips.includes(ip))
    .toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
    .at(0)
}

interface TestEnd {
  readonly isLocal: boolean
  readonly isOfUnknownNamespace: boolean
  readonly end: ConnectionEnd
}

/** Policies without the peers that the labels of a namespace decide, for a peer of an unknown one. */
function seenBy(policies: readonly AnyPolicy[], peer: TestEnd): readonly AnyPolicy[] {
  if (!peer.isOfUnknownNamespace) return policies
  const narrowed = <R extends PolicyRule>(rule: R): R => {
    if (rule.peers === 'any') return rule
    return { ...rule, peers: rule.peers.filter((one) => !('namespaceSelector' in one)) }
  }
  return policies.map((one) => {
    const rules = Object.entries(one.rules).map(([key, list]) => [key, list.map(narrowed)])
    return { ...one, rules: Object.fromEntries(rules) }
  })
}

/** Whether a policy might select a Pod if the labels of its namespace were known. */
function isPerhapsSubject(
  policies: readonly AnyPolicy[],
  { isOfUnknownNamespace, end }: TestEnd,
  direction: Direction,
): boolean {
  return policies.some(
    (one) =>
      isOfUnknownNamespace &&
      'tier' in one &&
      one.rules[direction].length > 0 &&
      one.subject !== undefined &&
      selectsLabels(one.subject.podSelector, end.pod?.labels),
  )
}

/** All connections of the small cluster of these events, with whether the node has to admit them. */
function* judged(events: readonly PolicyEvent[]) {
  const last = lastOf(events)
  const pods = last.flatMap((one) => (one.kind === 'pod' && one.value ? [one.value] : []))
  const policies = last.flatMap((one): AnyPolicy[] =>
    (one.kind === 'policy' || one.kind === 'clusterPolicy') && one.value ? [one.value] : [],
  )
  const labelsOf = (name: string) =>
    last.flatMap((one) => (one.kind === 'namespace' && one.name === name ? one : []))[0]?.labels
  const ends = [...new Set([...pods.flatMap(({ ips }) => ips), ...OUTSIDE])].map((ip): TestEnd => {
    const pod = ownerOf(pods, ip)
    const namespaceLabels = pod && labelsOf(pod.namespace)
    const seen = pod && { ...pod, namespaceLabels: namespaceLabels ?? {} }
    const isOfUnknownNamespace = pod !== undefined && namespaceLabels === undefined
    const end = { ip, pod: seen, node: pod?.nodeName }
    return { isLocal: pod?.nodeName === NODE, isOfUnknownNamespace, end }
  })
  for (const source of ends) {
    for (const destination of ends) {
      if (source.end.ip.includes(':') !== destination.end.ip.includes(':')) continue
      for (const protocol of PROTOCOLS) {
        for (const number of PORTS) yield judgedOf(policies, source, destination, protocol, number)
      }
    }
  }
}

function judgedOf(
  policies: readonly AnyPolicy[],
  source: TestEnd,
  destination: TestEnd,
  protocol: Protocol,
  port: number,
) {
  const packet: FirstPacket = {
    source: source.end.ip,
    destination: destination.end.ip,
    protocol,
    port,
  }
  const connection = { source: source.end, destination: destination.end, protocol, port }
  const judge = (direction: Direction, own: TestEnd, peer: TestEnd) => {
    if (!own.isLocal || own === peer) return true
    if (isPerhapsSubject(policies, own, direction)) return false
    return judgeEnd(seenBy(policies, peer), connection, direction)?.isAdmitted !== false
  }
  const isAdmitted = judge('egress', source, destination) && judge('ingress', destination, source)
  return { packet, isAdmitted }
}

function fresh(events: readonly PolicyEvent[]): PolicyModel {
  const model = new PolicyModel({ nodeName: NODE })
  model.apply(events)
  return model
}

function stateOf(model: PolicyModel): unknown {
  const copy = new Copy()
  const { content } = model
  copy.follow(content, everything(model))
  return copy.state
}

/** Changes that say that all of the content is new. */
function everything({ content }: PolicyModel): PolicyChanges {
  return {
    sets: new Set(content.sets.keys()),
    members: new Map(),
    chains: new Set([
      ...content.policyChains.keys(),
      ...content.tierChains.keys(),
      ...content.denyChains.keys(),
      ...content.podChains.keys(),
    ]),
    pods: {
      ingress: new Set(content.pods.ingress.keys()),
      egress: new Set(content.pods.egress.keys()),
    },
    hasLocalRanges: content.localRanges.length > 0,
    isNarrower: true,
  }
}

test('content and model admit what policies say of the Pods of the node, and nothing else', () => {
  let [admitted, refused] = [0, 0]
  fc.assert(
    fc.property(history, (events) => {
      const model = fresh(events)
      for (const { packet, isAdmitted } of judged(events)) {
        const found = interpret(model.content, packet)
        if (found !== isAdmitted) expect({ packet, found }).toEqual({ packet, found: isAdmitted })
        if (model.admits(packet) !== isAdmitted) expect({ packet }).toBe(isAdmitted)
        if (isAdmitted) admitted++
        else refused++
      }
    }),
    { numRuns: 300 },
  )
  expect(Math.min(admitted, refused)).toBeGreaterThan(1_000)
})

test('content follows from the present objects alone, and changes say all that is different', () => {
  fc.assert(
    fc.property(batches, (all) => {
      const model = new PolicyModel({ nodeName: NODE })
      const copy = new Copy()
      for (const batch of all) {
        model.apply(batch)
        const changes = model.takeChanges()
        copy.follow(model.content, changes)
      }
      const expected = fresh(lastOf(all.flat()).toReversed())
      expected.takeChanges()
      const ranges = expected.content.localRanges.length === 0
      const found = copy.state as { rest: [string, unknown][] }
      const rest = found.rest.filter(([key]) => !(ranges && key === 'ranges'))
      expect({ ...found, rest }).toEqual(stateOf(expected))
    }),
    { numRuns: 500 },
  )
})

test('changes that withdraw an admission are marked as narrower', () => {
  let [narrower, wider] = [0, 0]
  fc.assert(
    fc.property(history, history, (first, second) => {
      const model = fresh(first)
      model.takeChanges()
      model.apply(second)
      const { isNarrower } = model.takeChanges()
      const before = new Map(admittedOf(first))
      const after = new Map(admittedOf([...first, ...second]))
      const isWithdrawn = [...before].some(([key, was]) => was && after.get(key) === false)
      if (isWithdrawn) expect(isNarrower).toBe(true)
      if (isNarrower) narrower++
      else wider++
    }),
    { numRuns: 500 },
  )
  expect(narrower).toBeGreaterThan(50)
  expect(wider).toBeGreaterThan(0)
})

function admittedOf(events: readonly PolicyEvent[]): readonly (readonly [string, boolean])[] {
  return [...judged(events)].map(
    ({ packet: { source, destination, protocol, port: number }, isAdmitted }) =>
      [`${source} ${destination} ${protocol} ${number}`, isAdmitted] as const,
  )
}
