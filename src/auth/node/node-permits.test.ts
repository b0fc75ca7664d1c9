import { expect, test } from 'vitest'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ResourceAction } from '../action.ts'
import { type NodePods, nodePermits } from './node-permits.ts'

/** A Pod in the namespace shop with an object of every kind that Pods need. */
function pod(name: string, nodeName: string): JsonObject {
  return {
    metadata: { name, namespace: 'shop' },
    spec: { nodeName, serviceAccountName: `${name}-account`, volumes: [secretVolume(name)] },
  }
}

function secretVolume(name: string): JsonObject {
  return { name: 's', secret: { secretName: `${name}-secret` } }
}

const PODS = [pod('mine', 'n1'), pod('other', 'n2'), pod('waiting', '')]
const pods: NodePods = {
  pod: (namespace, name) =>
    PODS.find((one) => namespace === 'shop' && stringAt(one, 'metadata', 'name') === name),
  podsIn: (namespace) => (namespace === 'shop' ? PODS : []),
  nodeOfAttachment: (name) => ({ mine: 'n1', other: 'n2' })[name],
}

const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'impersonate',
  'escalate',
]

/** The verbs that the agent of n1 may use on what `[group/]resource[/subresource] [namespace/]name` says. */
function permitted(what: string): string {
  const [kind = '', path = ''] = what.split(' ')
  const [namespace, name] = path.includes('/') ? path.split('/') : ['', path]
  const [group, resource = '', subresource = ''] = kind.includes('.io/')
    ? kind.split('/')
    : ['', ...kind.split('/')]
  const about = { group, resource, subresource, namespace, name } as Omit<ResourceAction, 'verb'>
  return VERBS.filter((verb) => nodePermits('n1', { verb, ...about }, pods)).join(' ')
}

const NOTHING = ''
const READ = 'get list watch'

test.each([
  ['nodes n1', `${READ} create update patch`],
  ['nodes n2', 'create'],
  ['nodes', 'create'],
  ['nodes/status n1', 'get update patch'],
  ['nodes/status n2', NOTHING],
  ['nodes/proxy n1', NOTHING],
  ['coordination.k8s.io/leases kube-node-lease/n1', 'get create update patch delete'],
  ['coordination.k8s.io/leases kube-node-lease/n2', 'create'],
  ['coordination.k8s.io/leases kube-system/n1', NOTHING],
  ['leases kube-node-lease/n1', NOTHING],
  ['pods shop/mine', `${READ} create delete`],
  ['pods shop/other', `${READ} create`],
  ['pods shop/waiting', `${READ} create`],
  ['pods shop/gone', `${READ} create`],
  ['pods/status shop/mine', 'update patch'],
  ['pods/status shop/other', NOTHING],
  ['pods/status shop/waiting', NOTHING],
  ['pods/status shop/gone', NOTHING],
  ['pods/environment shop/mine', 'get'],
  ['pods/environment shop/other', NOTHING],
  ['pods/exec shop/mine', NOTHING],
  ['pods/binding shop/mine', NOTHING],
  ['services shop/web', READ],
  ['events shop/e', 'create update patch'],
  ['events.k8s.io/events shop/e', 'create update patch'],
  ['secrets shop/mine-secret', READ],
  ['secrets shop/other-secret', NOTHING],
  ['secrets shop/waiting-secret', NOTHING],
  ['secrets bank/mine-secret', NOTHING],
  ['secrets shop/', NOTHING],
  ['secrets mine-secret', NOTHING],
  ['configmaps shop/mine-secret', NOTHING],
  ['serviceaccounts shop/mine-account', READ],
  ['serviceaccounts shop/other-account', NOTHING],
  ['serviceaccounts/token shop/mine-account', 'create'],
  ['serviceaccounts/token shop/other-account', NOTHING],
  ['rbac.authorization.k8s.io/clusterroles admin', NOTHING],
  ['endpoints shop/web', NOTHING],
  ['node.k8s.io/runtimeclasses x', READ],
  ['storage.k8s.io/csidrivers x', READ],
  ['storage.k8s.io/csinodes n1', 'get create update patch delete'],
  ['storage.k8s.io/csinodes n2', 'create'],
  ['storage.k8s.io/csinodes', 'create'],
  ['storage.k8s.io/volumeattachments mine', 'get'],
  ['storage.k8s.io/volumeattachments other', NOTHING],
  ['storage.k8s.io/volumeattachments gone', NOTHING],
  ['certificates.k8s.io/certificatesigningrequests c', `${READ} create`],
  ['certificates.k8s.io/certificatesigningrequests/approval c', NOTHING],
  ['authentication.k8s.io/tokenreviews', 'create'],
  ['authorization.k8s.io/subjectaccessreviews', 'create'],
  ['constructor x', NOTHING],
])('the agent of a node may, on %s: %s', (what, verbs) => {
  expect(permitted(what)).toBe(verbs)
})

test('a Pod without a name for its account needs the default one', () => {
  const plain = { metadata: { name: 'p' }, spec: { nodeName: 'n1' } }
  const one: NodePods = { ...pods, pod: () => plain, podsIn: () => [plain] }
  const about = { group: '', resource: 'serviceaccounts', subresource: '', namespace: 'shop' }
  const permits = (name: string) => nodePermits('n1', { verb: 'get', ...about, name }, one)
  expect([permits('default'), permits('admin')]).toEqual([true, false])
})
