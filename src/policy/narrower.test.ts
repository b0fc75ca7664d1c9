import { expect, test } from 'vitest'
import { parseIp } from '../lib/ip.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import { readClusterPolicy } from '../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../networkpolicy/read-policy.ts'
import type { PolicyEvent } from './policy-content.ts'
import { PolicyModel } from './policy-model.ts'

const NODE = 'node-1'

function fresh(events: readonly PolicyEvent[]): PolicyModel {
  const model = new PolicyModel({ nodeName: NODE })
  model.apply(events)
  return model
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

test('a Pod that gets a label that is denied, and loses it at once, withdraws nothing', () => {
  const plain = podOf('y/a', '10.0.1.1', {}, 'node-2')
  const model = fresh([
    podOf('x/a', '10.0.0.1', {}, NODE),
    plain,
    ...['x', 'y'].map((name) => ({ kind: 'namespace', name, labels: {} }) as const),
    clusterOf('c', 'Admin', [DENY_LABEL]),
  ])
  model.takeChanges()
  model.apply([podOf('y/a', '10.0.1.1', { app: 'bad' }, 'node-2')])
  model.apply([plain])
  expect(model.takeChanges()).toMatchObject({ isNarrower: false, members: new Map() })
})

test('one of two policies that goes withdraws what it admitted, and so does one of two rules', () => {
  const other = { from: [{ podSelector: { matchLabels: { app: 'c' } } }] }
  const model = fresh([
    podOf('x/a', '10.0.0.1', {}, NODE),
    policyOf('p', { ingress: [BY_LABEL, other] }),
    policyOf('q', {}),
  ])
  const isNarrowerAfter = (event: PolicyEvent) => {
    model.takeChanges()
    model.apply([event])
    return model.takeChanges().isNarrower
  }
  expect(isNarrowerAfter(policyOf('p', { ingress: [other] }))).toBe(true)
  expect(isNarrowerAfter({ kind: 'policy', key: 'x/p', value: undefined })).toBe(true)
  expect(isNarrowerAfter(policyOf('p', { ingress: [other] }))).toBe(false)
})

test('a policy of Baseline that comes, or comes first, withdraws', () => {
  const model = fresh([
    podOf('x/a', '10.0.0.1', {}, NODE),
    { kind: 'namespace', name: 'x', labels: {} },
    clusterOf('a', 'Admin', [DENY_LABEL]),
  ])
  model.takeChanges()
  for (const name of ['d', 'c']) {
    model.apply([clusterOf(name, 'Baseline', [DENY_LABEL])])
    expect(model.takeChanges().isNarrower).toBe(true)
  }
})

test.each([
  ['Pass', true],
  ['Deny', true],
  ['Accept', false],
])('a Pod, or a named port, that a rule of %s begins to select', (action, expected) => {
  const [from, any] = [DENY_LABEL['from']!, [{ namespaces: {} }]]
  const protocols = [{ destinationNamedPort: 'web' }]
  for (const rule of [{ from }, { from: any, protocols }]) {
    const model = fresh([
      podOf('x/a', '10.0.0.1', {}, NODE),
      podOf('y/a', '10.0.1.1', {}, 'node-2'),
      ...['x', 'y'].map((name) => ({ kind: 'namespace', name, labels: {} }) as const),
      clusterOf('c', 'Admin', [
        { action, ...rule },
        { action: 'Accept', from: any },
      ]),
      policyOf('p', {}),
    ])
    model.takeChanges()
    const changed = podOf('y/a', '10.0.1.1', { app: 'bad' }, 'node-2', 'web')
    model.apply([changed])
    expect(model.takeChanges().isNarrower).toBe(expected)
  }
})

function clusterOf(name: string, tier: string, ingress: readonly JsonObject[]): PolicyEvent {
  const spec = { tier, priority: 1, subject: { namespaces: {} }, ingress: [...ingress] }
  const value = readClusterPolicy({ metadata: { name }, spec }).policy
  return { kind: 'clusterPolicy', key: name, value }
}

function podOf(
  key: string,
  ip: string,
  written: Json,
  ...[nodeName, portName]: [nodeName: string, portName?: string]
): PolicyEvent {
  const [namespace = ''] = key.split('/')
  const namedPorts = portName ? [{ name: portName, protocol: 'TCP', port: 80 }] : []
  const rest = { isBeingDeleted: false, createdAt: 0, namedPorts }
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
