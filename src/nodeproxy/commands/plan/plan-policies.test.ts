import { expect, test } from 'vitest'
import type { IpAddress } from '../../../lib/ip.ts'
import { parseManifests } from '../../../manifests/manifests.ts'
import type { PolicyEvent } from '../../../policy/policy-content.ts'
import { planText } from '../plan-command.ts'
import { deletionOf } from './cluster-changes.ts'
import { type PolicyChange, planPolicies, policiesAmong } from './plan-policies.ts'
import { NOTHING } from './testing/no-plan.ts'

const read = (text: string) => policiesAmong(parseManifests({ file: 'policy.yaml', text }))

function pod(key: string, ip: string, nodeName = 'n1'): PolicyEvent {
  const [namespace = '', app = ''] = key.split('/')
  const rest = { isBeingDeleted: false, createdAt: 0, namedPorts: [], nodeName }
  const value = { key, namespace, labels: { app }, ips: [ip as IpAddress], ...rest }
  return { kind: 'pod', key, value }
}

const LISTED: readonly PolicyEvent[] = [
  { kind: 'namespace', name: 'shop', labels: {} },
  pod('shop/web', '10.0.0.1'),
  pod('shop/db', '10.0.0.2'),
  pod('shop/far', '10.0.1.1', 'n2'),
]

const policy = (name: string, app: string, port: number) => `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: ${name}, namespace: shop }
spec:
  podSelector: { matchLabels: { app: ${app} } }
  ingress: [{ ports: [{ port: ${port} }] }]
`
const FENCE = `
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: fence }
spec:
  tier: Admin
  priority: 1
  subject: { namespaces: {} }
  egress: [{ action: Deny, to: [{ namespaces: {} }] }]
  unknown: 1
`
const SERVICE = '\nkind: Service\napiVersion: v1\nmetadata: { name: web }\n'

test('policies are taken out of manifests, and what is wrong with them is said', () => {
  const found = read(`${policy('a', 'web', 80)}---${SERVICE}---${FENCE.replace('Deny', 'Refuse')}`)
  expect(found.events.map(({ kind, key }) => [kind, key])).toEqual([
    ['policy', 'shop/a'],
    ['clusterPolicy', 'fence'],
  ])
  expect(found.others.map(({ object }) => object['kind'])).toEqual(['Service'])
  expect(found.notes).toEqual([expect.stringMatching(/^ClusterNetworkPolicy fence: .*Refuse/)])
  expect(() => read('apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy')).toThrow(
    'policy.yaml:1:1: metadata.name: it is missing',
  )
})

test('a policy isolates the Pods of this node that it selects, and its deletion frees them', () => {
  const { events } = read(policy('a', 'web', 80))
  const isolated = {
    direction: 'ingress',
    pod: 'shop/web',
    ip: '10.0.0.1',
    before: [],
    after: ['shop/a'],
  }
  expect(planPolicies('n1', LISTED, events)).toEqual([isolated])
  expect(planPolicies('n2', LISTED, events)).toEqual([])
  const deletion = deletionOf('networkpolicy/shop/a') as PolicyChange
  const freed = { ...isolated, before: ['shop/a'], after: [] }
  expect(planPolicies('n1', [...LISTED, ...events], [deletion])).toEqual([freed])
})

test('other rules of a policy are a change, equal ones none', () => {
  const listed = [...LISTED, ...read(policy('a', 'web', 80)).events]
  expect(planPolicies('n1', listed, read(policy('a', 'web', 80)).events)).toEqual([])
  expect(planPolicies('n1', listed, read(policy('a', 'web', 81)).events)).toMatchObject([
    { pod: 'shop/web', before: ['shop/a'], after: ['shop/a'] },
  ])
})

test('a ClusterNetworkPolicy is about all Pods of this node, and its deletion about none', () => {
  const { events } = read(FENCE)
  const found = planPolicies('n1', LISTED, events)
  expect(found.map(({ direction, pod: name, after }) => [direction, name, after])).toEqual([
    ['egress', 'shop/web', ['fence']],
    ['egress', 'shop/db', ['fence']],
  ])
  const deletion = deletionOf('ClusterNetworkPolicy/fence') as PolicyChange
  expect(planPolicies('n1', [...LISTED, ...events], [deletion])).toHaveLength(2)
})

test('a plan shows each Pod and direction in a line', () => {
  const one = { direction: 'ingress', pod: 'shop/web', ip: '10.0.0.1' as IpAddress } as const
  const isolations = [
    { ...one, before: [], after: ['shop/a', 'shop/b'] },
    { ...one, before: ['shop/a'], after: [] },
    { ...one, before: ['shop/a'], after: ['shop/b'] },
    { ...one, before: ['shop/a'], after: ['shop/a'] },
  ]
  expect(planText({ ...NOTHING, isolations }, false)).toBe(
    [
      'mode m on node7: 0 objects to set, 0 to remove, 0 Services touched',
      'other policies about 1 Pod of this node',
      '',
      'policies',
      '  + ingress of shop/web (10.0.0.1): shop/a, shop/b',
      '  - ingress of shop/web (10.0.0.1): no policy any more, before shop/a',
      '  ~ ingress of shop/web (10.0.0.1): shop/b, before shop/a',
      '  ~ ingress of shop/web (10.0.0.1): shop/a, with other rules',
      '',
    ].join('\n'),
  )
})
