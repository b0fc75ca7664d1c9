import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type IpAddress, parseIp } from '../lib/ip.ts'
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
import { history, NODE, PROTOCOLS } from './testing/some-events.ts'

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
    return { ...one, rules: Object.fromEntries(rules) } as AnyPolicy
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
    fc.property(fc.array(history, { minLength: 1, maxLength: 6 }), (batches) => {
      const model = new PolicyModel({ nodeName: NODE })
      const copy = new Copy()
      for (const batch of batches) {
        model.apply(batch)
        const changes = model.takeChanges()
        copy.follow(model.content, changes)
      }
      const expected = fresh(lastOf(batches.flat()).toReversed())
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

const DENY_LABEL: JsonObject = {
  action: 'Deny',
  from: [{ pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: 'bad' } } } }],
}
const BY_LABEL: JsonObject = {
  from: [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'a' } } }],
}

test.each<[string, PolicyEvent, boolean]>([
  ['a Pod that is added elsewhere', podOf('y/b', '10.0.1.9', { app: 'a' }, 'node-2'), false],
  ['a Pod that loses its label', podOf('y/a', '10.0.1.1', {}, 'node-2'), true],
  ['a policy that is added', policyOf('q', {}), false],
  [
    'a policy that gets a rule more',
    policyOf('p', { ingress: [BY_LABEL, { ports: [{}] }] }),
    false,
  ],
  ['a policy that loses a rule', policyOf('p', { ingress: [] }), true],
  ['a policy that gets ports', policyOf('p', { ingress: [{ ...BY_LABEL, ports: [{}] }] }), true],
  [
    'a policy that gets other peers',
    policyOf('p', { ingress: [{ from: [{ podSelector: {} }] }] }),
    true,
  ],
  ['a policy that gets all peers', policyOf('p', { ingress: [{}] }), false],
  ['a policy that is gone', { kind: 'policy', key: 'x/p', value: undefined }, false],
  ['the first cluster policy', clusterOf('c', 'Admin', [DENY_LABEL]), true],
  ['a cluster policy without rules of the Pods', clusterOf('c', 'Admin', []), false],
  ['the first policy', policyOf('e', { policyTypes: ['Egress'] }), true],
])('%s', (_, added, expected) => {
  const model = fresh([
    podOf('x/a', '10.0.0.1', {}, NODE),
    podOf('y/a', '10.0.1.1', { app: 'a' }, 'node-2'),
    { kind: 'namespace', name: 'y', labels: {} },
    policyOf('p', { ingress: [BY_LABEL] }),
  ])
  model.takeChanges()
  model.apply([added])
  expect(model.takeChanges().isNarrower).toBe(expected)
})

test.each<[string, PolicyEvent, boolean]>([
  ['a Pod gets a label that is denied', podOf('y/a', '10.0.1.1', { app: 'bad' }, 'node-2'), true],
  ['a Pod that no rule is about is added', podOf('y/b', '10.0.1.9', {}, 'node-2'), false],
  ['a rule is added', clusterOf('c', 'Admin', [DENY_LABEL, DENY_LABEL]), true],
  ['it is gone', { kind: 'clusterPolicy', key: 'c', value: undefined }, false],
  ['a second one comes', clusterOf('d', 'Admin', [DENY_LABEL]), true],
  ['a policy that isolates', policyOf('p', {}), true],
])('under a cluster policy: %s', (_, added, expected) => {
  const model = fresh([
    podOf('x/a', '10.0.0.1', {}, NODE),
    podOf('y/a', '10.0.1.1', {}, 'node-2'),
    { kind: 'namespace', name: 'x', labels: {} },
    { kind: 'namespace', name: 'y', labels: {} },
    clusterOf('c', 'Admin', [DENY_LABEL]),
  ])
  model.takeChanges()
  model.apply([added])
  expect(model.takeChanges().isNarrower).toBe(expected)
})

function clusterOf(name: string, tier: string, ingress: readonly JsonObject[]): PolicyEvent {
  const spec = { tier, priority: 1, subject: { namespaces: {} }, ingress: [...ingress] }
  const value = readClusterPolicy({ metadata: { name }, spec }).policy
  return { kind: 'clusterPolicy', key: name, value }
}

function podOf(key: string, ip: string, written: Json, nodeName: string): PolicyEvent {
  const [namespace = ''] = key.split('/')
  const rest = { isBeingDeleted: false, createdAt: 0, namedPorts: [] }
  return {
    kind: 'pod',
    key,
    value: { key, namespace, labels: written, ips: [parseIp(ip)!], nodeName, ...rest },
  }
}

function policyOf(name: string, rules: JsonObject): PolicyEvent {
  const object = { metadata: { namespace: 'x', name }, spec: { podSelector: {}, ...rules } }
  return { kind: 'policy', key: `x/${name}`, value: readPolicy(object) }
}
