import { expect, test } from 'vitest'
import type { User } from '../user.ts'
import { authorize, rulesOfUser } from './authorizer.ts'
import { Policy } from './policy.ts'

const ANN: User = { name: 'ann', groups: [] }
const GET_PODS = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const ABOUT = { group: '', resource: 'pods', subresource: '', namespace: 'shop', name: 'web' }

function role(name: string, verb: string, namespace?: string) {
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  return { metadata, rules: [{ ...GET_PODS, verbs: [verb] }] }
}

/** Binds a ClusterRole to Ann, in the namespace or everywhere. */
function binding(name: string, of: string, namespace?: string) {
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  const subjects = [{ kind: 'User', name: 'ann' }]
  return { metadata, roleRef: { kind: 'ClusterRole', name: of }, subjects }
}

/** Which of two verbs Ann may use, by a policy in which she may `get` already. */
function rig(namespace?: string) {
  const policy = new Policy()
  policy.setRole(role('gets', 'get'))
  policy.setRole(role('lists', 'list'))
  policy.setBinding(binding('first', 'gets', namespace))
  const permitted = () =>
    ['get', 'list'].filter((verb) => authorize(policy, ANN, { ...ABOUT, verb }).isAllowed)
  expect(permitted()).toEqual(['get'])
  return { policy, permitted }
}

test.each([undefined, 'shop'])('every change decides the next question, in %s', (namespace) => {
  const { policy, permitted } = rig(namespace)
  policy.setBinding(binding('second', 'lists', namespace))
  expect(permitted()).toEqual(['get', 'list'])
  policy.deleteBinding({ namespace: namespace ?? '', name: 'first' })
  expect(permitted()).toEqual(['list'])
  policy.setRole(role('lists', 'delete'))
  expect(permitted()).toEqual([])
  policy.setRole(role('lists', 'get'))
  expect(permitted()).toEqual(['get'])
  policy.deleteRole({ kind: 'ClusterRole', namespace: '', name: 'lists' })
  expect(permitted()).toEqual([])
})

test.each([undefined, 'shop'])(
  'a binding to another subject takes it from this one, in %s',
  (at) => {
    const { policy, permitted } = rig(at)
    policy.setBinding({
      ...binding('first', 'gets', at),
      subjects: [{ kind: 'User', name: 'bob' }],
    })
    expect(permitted()).toEqual([])
  },
)

test('roles of one name are others in each namespace, and for the cluster', () => {
  const policy = new Policy()
  policy.setRole(role('same', 'get', 'shop'))
  policy.setRole(role('same', 'list', 'bank'))
  policy.setRole(role('same', 'watch'))
  const verbsOf = (kind: string, namespace: string) =>
    policy.rulesOf({ kind, namespace, name: 'same' })?.flatMap(({ verbs }) => verbs)
  expect(verbsOf('Role', 'shop')).toEqual(['get'])
  expect(verbsOf('Role', 'bank')).toEqual(['list'])
  expect(verbsOf('ClusterRole', '')).toEqual(['watch'])
  policy.deleteRole({ kind: 'Role', namespace: 'shop', name: 'same' })
  expect(verbsOf('Role', 'shop')).toBe(undefined)
  expect(verbsOf('Role', 'bank')).toEqual(['list'])
})

test('a binding of the same name in another namespace is another one', () => {
  const { policy, permitted } = rig('shop')
  policy.setBinding(binding('first', 'lists', 'bank'))
  policy.deleteBinding({ namespace: 'bank', name: 'first' })
  policy.deleteBinding({ namespace: '', name: 'first' })
  expect(permitted()).toEqual(['get'])
})

test('the rules of a user in the whole cluster are none of a namespace, those in a namespace are both', () => {
  const { policy } = rig('shop')
  policy.setBinding(binding('everywhere', 'lists'))
  policy.setRole(role('deletes', 'delete'))
  policy.setBinding(binding('elsewhere', 'deletes', 'bank'))
  const verbsIn = (namespace: string) =>
    rulesOfUser(policy, ANN, namespace).flatMap(({ verbs }) => verbs)
  expect([verbsIn(''), verbsIn('shop')]).toEqual([['list'], ['list', 'get']])
})

test.each([
  ['two objects', [['web'], ['db']], true],
  ['two objects in the other order', [['db'], ['web']], true],
  ['one object and all', [['db'], []], true],
  ['all and one object', [[], ['db']], true],
  ['two other objects', [['db'], ['cache']], false],
] as const)('rules about %s count together', (_what, lists, expected) => {
  const policy = new Policy()
  const rules = lists.map((names) => ({ ...GET_PODS, resourceNames: [...names] }))
  policy.setRole({ metadata: { name: 'gets' }, rules })
  policy.setBinding(binding('first', 'gets'))
  expect(authorize(policy, ANN, { ...ABOUT, verb: 'get' }).isAllowed).toBe(expected)
})
