import { expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { ClusterEvidence } from './evidence/cluster-evidence.ts'
import { refusedAccess } from './refused-access.ts'

const action = {
  verb: 'get',
  group: '',
  resource: 'pods',
  subresource: 'log',
  name: '',
  namespace: 'shop',
}
const rule = (...resources: string[]): JsonObject => ({
  apiGroups: [''],
  verbs: ['get'],
  resources,
})
const role = (namespace: string, name: string, rules: JsonObject[]): JsonObject => ({
  metadata: { namespace, name },
  rules,
})

test('names the smallest role that permits it, and binds it', () => {
  const everything = { apiGroups: ['*'], verbs: ['*'], resources: ['*'] }
  const evidence = new ClusterEvidence({
    roles: [
      role('shop', 'pods-only', [rule('pods')]),
      role('shop', 'logs', [rule('pods/log')]),
      role('other', 'logs-elsewhere', [rule('pods/log')]),
    ],
    clusterroles: [
      role('', 'admin', [everything]),
      role('', 'view', [rule('pods'), rule('*/log')]),
      role('', 'system:logs', [rule('pods/log')]),
    ],
  })
  const found = refusedAccess('shop/robot', action, '', evidence)
  expect(found.cause).toBe('it may not get pods/log in the namespace shop')
  expect(found.evidence[1]).toBe(
    'it is permitted by Role logs, ClusterRole view, ClusterRole admin',
  )
  expect(found.commands).toEqual([
    'orchctl -n shop create rolebinding robot-get-pods --role=logs --serviceaccount=shop:robot',
  ])
})

test('without such a role, makes one with this rule alone', () => {
  const cluster = { ...action, namespace: '', name: 'n1', resource: 'nodes', subresource: '' }
  expect(refusedAccess('shop/robot', cluster, 'no', new ClusterEvidence({})).commands).toEqual([
    'orchctl create clusterrole robot-get-nodes --verb=get --resource=nodes --resource-name=n1',
    'orchctl create clusterrolebinding robot-get-nodes --clusterrole=robot-get-nodes --serviceaccount=shop:robot',
  ])
})
