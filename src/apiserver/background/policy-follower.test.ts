import { expect, test } from 'vitest'
import { rbacAuthorizer } from '../../auth/rbac/authorizer.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { StoredEntry } from '../../storage/store.ts'
import { encodeStored } from '../encoding/codec.ts'
import { PolicyFollower } from './policy-follower.ts'

const ROLE = { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] }
const BINDING = {
  roleRef: { kind: 'ClusterRole', name: 'reader' },
  subjects: [{ kind: 'User', name: 'ann' }],
}

function entry(key: string, object: JsonObject | string, extra = {}): StoredEntry {
  const [, , ...path] = key.split('/')
  const [name = '', namespace] = path.toReversed()
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  const value =
    typeof object === 'string' ? Buffer.from(object) : encodeStored({ ...object, metadata })
  return { key, value, createRevision: 1, modRevision: 1, ...extra }
}

const role = entry('/clusterroles/reader', ROLE)
const everywhere = entry('/clusterrolebindings/b', BINDING)
const inShop = entry('/rolebindings/shop/b', BINDING)

function rig() {
  const follower = new PolicyFollower()
  const authorizer = rbacAuthorizer(follower.policy)
  const { clusterroles, clusterrolebindings, rolebindings } = follower.followers
  const reads = (namespace: string) => {
    const action = {
      verb: 'get',
      group: '',
      resource: 'pods',
      subresource: '',
      namespace,
      name: 'x',
    }
    return authorizer.authorize({ name: 'ann', groups: [] }, action).isAllowed
  }
  const permitted = () => ['shop', 'bank'].filter(reads)
  return { permitted, clusterroles, clusterrolebindings, rolebindings }
}

test('what is loaded and what changes decides at once', () => {
  const { permitted, clusterroles, clusterrolebindings, rolebindings } = rig()
  clusterroles?.load([role])
  rolebindings?.load([inShop])
  expect(permitted()).toEqual(['shop'])
  clusterrolebindings?.apply({ key: everywhere.key, revision: 2, entry: everywhere })
  expect(permitted()).toEqual(['shop', 'bank'])
  clusterrolebindings?.apply({ key: everywhere.key, revision: 3, entry: undefined })
  expect(permitted()).toEqual(['shop'])
  clusterroles?.apply({ key: role.key, revision: 4, entry: undefined })
  expect(permitted()).toEqual([])
})

test('a list that leaves out an object takes it away', () => {
  const { permitted, clusterroles, rolebindings } = rig()
  clusterroles?.load([role])
  rolebindings?.load([inShop])
  rolebindings?.load([])
  expect(permitted()).toEqual([])
  rolebindings?.load([inShop])
  expect(permitted()).toEqual(['shop'])
})

test.each([
  ['no JSON', entry(role.key, '{')],
  ['no object', entry(role.key, '[]')],
  ['damaged', entry(role.key, ROLE, { damaged: true })],
  ['in another form', entry(role.key, JSON.stringify({ ...ROLE, metadata: { name: 'reader' } }))],
])('a role that is %s grants nothing, nor what it granted before', (_what, broken) => {
  const { permitted, clusterroles, rolebindings } = rig()
  clusterroles?.load([role])
  rolebindings?.load([inShop])
  clusterroles?.apply({ key: role.key, revision: 2, entry: broken })
  expect(permitted()).toEqual([])
})
