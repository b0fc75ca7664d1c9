import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import type { User } from '../user.ts'
import {
  csiNodeWrite,
  leaseWrite,
  type NodeWriteRule,
  nodeWrite,
  podWrite,
  tokenRefusal,
} from './node-writes.ts'

const AGENT: User = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] }
const OWNER = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' }
const TAINT = { key: 'a', effect: 'NoSchedule' }

/** Users that are no agents: the rules are about agents alone. */
const OTHERS: readonly User[] = [
  { name: 'ann', groups: ['system:nodes'] },
  { name: 'system:node:n1', groups: ['system:authenticated'] },
  { name: 'system:node:', groups: ['system:nodes'] },
  { name: 'x:system:node:n1', groups: ['system:nodes'] },
]

function node(name: string, metadata: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  return { metadata: { name, ...metadata }, spec }
}

const labelled = (key: string, value = 'x') => node('n1', { labels: { [key]: value } })

type Attempt = readonly [what: string, next: JsonObject, old: JsonObject | undefined]

function refuses(rule: NodeWriteRule, [, next, old]: Attempt): boolean {
  return rule(AGENT, next, old) !== undefined
}

const OWN = node('n1')

test.each<Attempt>([
  ['creates another Node', node('n2'), undefined],
  ['changes another Node', node('n2', {}, { a: 1 }), node('n2')],
  ['creates its Node with an owner', node('n1', { ownerReferences: [OWNER] }), undefined],
  ['gives its Node an owner', node('n1', { ownerReferences: [OWNER] }), OWN],
  ['takes the owner of its Node away', OWN, node('n1', { ownerReferences: [OWNER] })],
  ['adds a taint', node('n1', {}, { taints: [TAINT] }), OWN],
  ['removes a taint', OWN, node('n1', {}, { taints: [TAINT] })],
  [
    'changes a taint',
    node('n1', {}, { taints: [{ ...TAINT, effect: 'NoExecute' }] }),
    node('n1', {}, { taints: [TAINT] }),
  ],
  ['creates its Node with a label of the cluster', labelled('orch.io/a'), undefined],
  ['changes a label of the cluster', labelled('orch.io/a', 'y'), labelled('orch.io/a')],
  ['removes a label of the cluster', OWN, labelled('orch.io/a')],
  ['adds a label of the cluster', labelled('orch.io/a'), OWN],
])('an agent that %s is refused', (...attempt) => {
  expect(refuses(nodeWrite, attempt)).toBe(true)
})

test.each<Attempt>([
  ['creates its Node', OWN, undefined],
  ['creates its Node with a taint', node('n1', {}, { taints: [TAINT] }), undefined],
  ['changes a label of its own', labelled('example.com/a', 'y'), labelled('example.com/a')],
  ['leaves a label of the cluster', labelled('orch.io/a'), labelled('orch.io/a')],
  ['writes an empty list of owners', node('n1', { ownerReferences: [] }), OWN],
  ['leaves its taints', node('n1', {}, { taints: [TAINT] }), node('n1', {}, { taints: [TAINT] })],
])('an agent that %s is not refused', (...attempt) => {
  expect(refuses(nodeWrite, attempt)).toBe(false)
})

test.each([
  [true, 'node-role.kubernetes.io/control-plane'],
  [true, 'node-restriction.kubernetes.io/team'],
  [true, 'node.sub.orch.io/a'],
  [true, 'orch.io/role'],
  [true, 'k8s.io/a'],
  [true, 'deep.er.k8s.io/a'],
  [true, 'kubernetes.io/role'],
  [true, 'kubernetes.io/os2'],
  [true, 'kubernetes.io/xhostname'],
  [true, 'xnode.kubernetes.io/a'],
  [true, 'evil.topology.kubernetes.io/zone'],
  [true, 'topology.kubernetes.io/rack'],
  [false, 'kubernetes.io/hostname'],
  [false, 'orch.io/os'],
  [false, 'beta.kubernetes.io/arch'],
  [false, 'topology.orch.io/zone'],
  [false, 'failure-domain.beta.kubernetes.io/region'],
  [false, 'node.kubernetes.io/instance-type'],
  [false, 'a.kubelet.orch.io/b'],
  [false, 'example.com/k8s.io'],
  [false, 'notk8s.io/a'],
  [false, 'k8s.io.example.com/a'],
  [false, 'kubernetes.io'],
  [false, 'plain'],
])('%j: the label %s is refused', (expected, label) => {
  expect(refuses(nodeWrite, ['', labelled(label), OWN])).toBe(expected)
})

test.each([
  [false, { name: 'n1', namespace: 'kube-node-lease' }],
  [true, { name: 'n2', namespace: 'kube-node-lease' }],
  [true, { name: 'n1', namespace: 'kube-system' }],
  [true, { name: 'n1' }],
  [true, { namespace: 'kube-node-lease' }],
])('%j: an agent that writes the Lease %j is refused', (expected, metadata) => {
  for (const old of [undefined, { metadata }]) {
    expect(refuses(leaseWrite, ['', { metadata }, old])).toBe(expected)
  }
})

function pod(nodeName: string, metadata: JsonObject = {}): JsonObject {
  return { metadata: { name: 'p', uid: 'p1', ...metadata }, spec: { nodeName } }
}

const META = { labels: { a: 'b' }, ownerReferences: [OWNER], finalizers: ['a.io/b'] }

test.each<Attempt>([
  ['creates a Pod', pod('n1'), undefined],
  ['writes a Pod of another node', pod('n2'), pod('n2')],
  ['takes a Pod that no node has', pod('n1'), pod('')],
  ['takes a Pod of another node', pod('n1'), pod('n2')],
  ...Object.entries(META).flatMap(([field, value]): Attempt[] => [
    [`adds ${field}`, pod('n1', { [field]: value }), pod('n1')],
    [`removes ${field}`, pod('n1'), pod('n1', { [field]: value })],
  ]),
])('an agent that %s is refused', (...attempt) => {
  expect(refuses(podWrite, attempt)).toBe(true)
})

test('an agent writes a Pod on its node, and its annotations', () => {
  const annotated = pod('n1', { ...META, annotations: { a: 'b' } })
  expect(refuses(podWrite, ['', annotated, pod('n1', META)])).toBe(false)
})

/** A mirror of a Pod that n1 runs from a file; `metadata` and `spec` replace parts of it. */
function mirror(metadata: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  const annotations = { 'kubernetes.io/config.mirror': 'hash' }
  const ownerReferences = [{ ...OWNER, controller: true }]
  return {
    metadata: { name: 'p', annotations, ownerReferences, ...metadata },
    spec: { nodeName: 'n1', ...spec },
  }
}

test.each<[boolean, string, JsonObject]>([
  [false, 'as it is', mirror()],
  [true, 'without the annotation', mirror({ annotations: {} })],
  [true, 'on another node', mirror({}, { nodeName: 'n2' })],
  [true, 'without an owner', mirror({ ownerReferences: [] })],
  [true, 'of an owner that does not control it', mirror({ ownerReferences: [OWNER] })],
  [
    true,
    'of another node',
    mirror({ ownerReferences: [{ ...OWNER, name: 'n2', controller: true }] }),
  ],
  [
    true,
    'that holds up the deletion of its Node',
    mirror({ ownerReferences: [{ ...OWNER, controller: true, blockOwnerDeletion: true }] }),
  ],
  [true, 'of two owners', mirror({ ownerReferences: [{ ...OWNER, controller: true }, OWNER] })],
  [true, 'with a Secret', mirror({}, { volumes: [{ secret: { secretName: 's' } }] })],
  [true, 'with a ConfigMap', mirror({}, { volumes: [{ configMap: { name: 'c' } }] })],
  [true, 'with a claim', mirror({}, { volumes: [{ persistentVolumeClaim: { claimName: 'c' } }] })],
])('%j: an agent that creates a mirror Pod %s is refused', (expected, _what, created) => {
  expect(refuses(podWrite, ['', created, undefined])).toBe(expected)
})

test('an agent writes its own CSINode only', () => {
  const names = ['n1', 'n2'].filter((name) => !refuses(csiNodeWrite, ['', node(name), undefined]))
  expect(names).toEqual(['n1'])
})

/** A request for a token that is bound to an object. */
function request(kind: string, uid: string | undefined): JsonObject {
  const reference = { kind, apiVersion: 'v1', name: 'p', ...(uid !== undefined && { uid }) }
  return { spec: { boundObjectRef: reference } }
}

const running = (nodeName: string, account?: string): JsonObject => ({
  metadata: { name: 'p', uid: 'p1' },
  spec: { nodeName, ...(account !== undefined && { serviceAccountName: account }) },
})

test.each<[boolean, string, JsonObject, JsonObject | undefined]>([
  [false, 'a Pod on it', request('Pod', 'p1'), running('n1', 'robot')],
  [true, 'nothing', { spec: {} }, running('n1', 'robot')],
  [true, 'a Pod that does not exist', request('Pod', 'p1'), undefined],
  [true, 'a Pod without its uid', request('Pod', undefined), running('n1', 'robot')],
  [true, 'a Pod with an empty uid', request('Pod', ''), running('n1', 'robot')],
  [true, 'a Pod that was made again', request('Pod', 'p0'), running('n1', 'robot')],
  [true, 'a Pod on another node', request('Pod', 'p1'), running('n2', 'robot')],
  [true, 'a Pod on no node', request('Pod', 'p1'), running('', 'robot')],
  [true, 'a Pod of another account', request('Pod', 'p1'), running('n1', 'admin')],
  [true, 'a Pod of the default account', request('Pod', 'p1'), running('n1')],
  [true, 'a Secret', request('Secret', 'p1'), running('n1', 'robot')],
  [true, 'a Node', request('Node', 'p1'), running('n1', 'robot')],
])(
  '%j: an agent that requests a token bound to %s is refused',
  (expected, _what, requested, found) => {
    expect(tokenRefusal(AGENT, 'robot', requested, found) !== undefined).toBe(expected)
  },
)

test('a Pod without uid gives no token to who names none', () => {
  const found = { metadata: { name: 'p' }, spec: { nodeName: 'n1', serviceAccountName: 'robot' } }
  expect(tokenRefusal(AGENT, 'robot', request('Pod', ''), found)).toMatch(/bound by uid to a Pod/)
})

test('a Pod without an account has the default one', () => {
  expect(tokenRefusal(AGENT, 'default', request('Pod', 'p1'), running('n1'))).toBe(undefined)
})

test.each(OTHERS)('%j is no agent of a node, so only its roles bind it', (user) => {
  const rules = [nodeWrite, leaseWrite, podWrite, csiNodeWrite].map((rule) =>
    rule(user, node('n2'), undefined),
  )
  expect([...rules, tokenRefusal(user, 'a', {}, undefined)]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
