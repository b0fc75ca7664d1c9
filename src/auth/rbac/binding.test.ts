import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { accountGroups, accountUserName } from '../service-account-name.ts'
import type { User } from '../user.ts'
import { readBinding, subjectKeysOf } from './binding.ts'

const BUILDER: User = {
  name: accountUserName({ namespace: 'shop', name: 'builder' }),
  groups: accountGroups('shop'),
}

/** Whether a binding with one subject, in a namespace or (empty) for the whole cluster, is for a user. */
function isFor(user: User, subject: Json, namespace = ''): boolean {
  const metadata = { name: 'b', ...(namespace !== '' && { namespace }) }
  const roleRef = { kind: 'ClusterRole', name: 'r' }
  const { subjects } = readBinding({ metadata, roleRef, subjects: [subject] })
  const keys = subjectKeysOf(user)
  return subjects.some((one) => keys.includes(one))
}

const NAMED: User = { name: 'dev', groups: ['ops'] }

test.each<[boolean, string, Json]>([
  [true, 'the user', { kind: 'User', name: 'dev' }],
  [true, 'a group of the user', { kind: 'Group', name: 'ops' }],
  [false, 'a group called as the user', { kind: 'Group', name: 'dev' }],
  [false, 'a user called as its group', { kind: 'User', name: 'ops' }],
  [false, 'a user in other letters', { kind: 'User', name: 'Dev' }],
  [false, 'a subject of another kind', { kind: 'Team', name: 'dev' }],
  [false, 'a subject without a kind', { name: 'dev' }],
  [false, 'no object', 'dev'],
])('%j: a user is %s', (expected, _what, subject) => {
  expect(isFor(NAMED, subject)).toBe(expected)
})

test.each<[boolean, string, Json, string]>([
  [true, 'of its namespace', { namespace: 'shop' }, ''],
  [true, 'of its namespace, bound in another', { namespace: 'shop' }, 'bank'],
  [true, 'of the namespace of the binding', {}, 'shop'],
  [false, 'of another namespace', { namespace: 'bank' }, 'shop'],
  [false, 'of no namespace', {}, ''],
  [false, 'of the namespace of another binding', {}, 'bank'],
])('%j: an account is the one %s', (expected, _what, where, namespace) => {
  const subject = { kind: 'ServiceAccount', name: 'builder', ...(where as object) }
  expect(isFor(BUILDER, subject, namespace)).toBe(expected)
})

test.each([
  { kind: 'User', name: '' },
  { kind: 'Group', name: '' },
  { kind: 'User' },
  { kind: 'ServiceAccount', name: '', namespace: 'shop' },
  { kind: 'ServiceAccount', name: 'builder' },
  { kind: 'Account', name: 'builder', namespace: 'shop' },
])('the subject %j is no user', (subject) => {
  const roleRef = { kind: 'ClusterRole', name: 'r' }
  expect(readBinding({ metadata: { name: 'b' }, roleRef, subjects: [subject] }).subjects).toEqual(
    [],
  )
})

test('a Role is that of the namespace of the binding, a ClusterRole of none', () => {
  const metadata = { name: 'b', namespace: 'shop' }
  const roleOf = (kind: string) => readBinding({ metadata, roleRef: { kind, name: 'r' } }).role
  expect(roleOf('Role')).toEqual({ kind: 'Role', namespace: 'shop', name: 'r' })
  expect(roleOf('ClusterRole')).toEqual({ kind: 'ClusterRole', namespace: '', name: 'r' })
})
