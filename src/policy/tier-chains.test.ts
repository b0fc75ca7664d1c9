import { expect, test } from 'vitest'
import { parseIp } from '../lib/ip.ts'
import type { JsonObject } from '../lib/json.ts'
import { readClusterPolicy } from '../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../networkpolicy/read-policy.ts'
import type { PolicyEvent } from './policy-content.ts'
import { PolicyModel } from './policy-model.ts'

const WEB = parseIp('10.0.0.1')!
const OTHER = parseIp('10.0.0.2')!
const LATE = parseIp('10.0.0.3')!
const FLOW = { source: OTHER, destination: WEB, protocol: 'TCP', port: 80 } as const

function pod(key: string, ip: typeof WEB): PolicyEvent {
  const [namespace = ''] = key.split('/')
  const rest = { isBeingDeleted: false, createdAt: 0, namedPorts: [], labels: {}, nodeName: 'n1' }
  return { kind: 'pod', key, value: { key, namespace, ips: [ip], ...rest } }
}

const namespace = (name: string): PolicyEvent => ({ kind: 'namespace', name, labels: {} })

function clusterPolicy(key: string, action: string, more: JsonObject = {}): PolicyEvent {
  const ingress = [{ name: 'r', action, from: [{ namespaces: {} }] }]
  const spec = { tier: 'Admin', priority: 5, subject: { namespaces: {} }, ingress, ...more }
  return {
    kind: 'clusterPolicy',
    key,
    value: readClusterPolicy({ metadata: { name: key }, spec }).policy,
  }
}

const gone = (key: string): PolicyEvent => ({ kind: 'clusterPolicy', key, value: undefined })

function model(...events: readonly PolicyEvent[]): PolicyModel {
  const made = new PolicyModel({ nodeName: 'n1' })
  made.apply([namespace('x'), pod('x/web', WEB), pod('x/other', OTHER), ...events])
  made.takeChanges()
  return made
}

test('Pods with the same policies share a chain of the tier, which ends with the last policy', () => {
  const one = model(clusterPolicy('b', 'Deny'), clusterPolicy('a', 'Pass'))
  const { tierChains, denyChains, podChains } = one.content
  expect([...tierChains.values()]).toMatchObject([
    {
      tier: 'Admin',
      policies: ['a', 'b'],
      rules: [{ action: 'pass', comment: 'a/r' }, { comment: 'b/r' }],
    },
  ])
  expect([...denyChains.values()]).toEqual([{ direction: 'ingress', policy: 'b' }])
  expect(podChains.size).toBe(1)
  one.apply([gone('a'), gone('b')])
  const { chains, isNarrower } = one.takeChanges()
  expect([chains.size, isNarrower]).toEqual([3, false])
  expect([one.content.tierChains.size, one.content.denyChains.size, one.content.sets.size]).toEqual(
    [0, 0, 0],
  )
})

test('another priority is another chain of the tier; another rule changes the same one', () => {
  const one = model(clusterPolicy('a', 'Accept'), clusterPolicy('b', 'Deny'))
  const [before] = one.content.tierChains.keys()
  one.apply([clusterPolicy('b', 'Pass')])
  expect([...one.content.tierChains.keys()]).toEqual([before])
  expect(one.takeChanges().chains).toContain(before)
  one.apply([clusterPolicy('b', 'Pass', { priority: 1 })])
  expect([...one.content.tierChains.keys()]).not.toEqual([before])
})

test('who refuses a connection is named: the policy that denies, or those that isolate', () => {
  const one = model(clusterPolicy('fence', 'Deny'))
  expect(one.refusalOf(FLOW)).toEqual({ direction: 'ingress', policies: ['fence'], isDenied: true })
  const object = { metadata: { namespace: 'x', name: 'np' }, spec: { podSelector: {} } }
  one.apply([
    clusterPolicy('fence', 'Pass'),
    { kind: 'policy', key: 'x/np', value: readPolicy(object) },
  ])
  expect(one.refusalOf(FLOW)).toEqual({ direction: 'ingress', policies: ['x/np'] })
  one.apply([clusterPolicy('fence', 'Accept')])
  expect(one.refusalOf(FLOW)).toBeUndefined()
})

test('the first policy of a tier that matches decides', () => {
  const one = model(clusterPolicy('a', 'Deny'), clusterPolicy('b', 'Accept'))
  expect(one.refusalOf(FLOW)?.policies).toEqual(['a'])
  one.apply([clusterPolicy('a', 'Accept'), clusterPolicy('b', 'Deny')])
  expect(one.refusalOf(FLOW)).toBeUndefined()
})

test('a Pod whose namespace is not known is dropped where a policy might be about it', () => {
  const one = model(pod('y/late', LATE), clusterPolicy('a', 'Accept'))
  expect(one.content.pods.ingress.get(LATE)).toBe('drop')
  expect(one.content.pods.egress.get(LATE)).toBe('accept')
  expect(one.refusalOf({ ...FLOW, source: WEB, destination: LATE })?.policies).toEqual([])
  one.apply([namespace('y')])
  expect(one.content.pods.ingress.get(LATE)).toMatch(/^ingress-pods-/)
})
