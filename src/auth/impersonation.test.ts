import { expect, test } from 'vitest'
import { impersonatedUser, impersonationActions, readImpersonation } from './impersonation.ts'

function read(...headers: readonly (readonly [string, string])[]) {
  const found = readImpersonation(['Host', 'x', ...headers.flat()])
  if (found === undefined || 'fault' in found) throw new Error(found?.fault ?? 'none')
  return found
}

const USER = ['Impersonate-User', 'ann'] as const

test('a request without such headers impersonates no user', () => {
  expect(readImpersonation(['Host', 'x', 'X-Impersonate-User', 'ann'])).toBe(undefined)
})

test('a user, each of its groups and each extra value need a permission of their own', () => {
  const found = read(
    USER,
    ['impersonate-group', 'dev'],
    ['Impersonate-Group', 'ops'],
    ['Impersonate-Uid', 'u1'],
    ['Impersonate-Extra-Example.com%2fScope', 'a'],
    ['Impersonate-Extra-example.com%2Fscope', 'b'],
  )
  const common = { verb: 'impersonate', group: '', subresource: '', namespace: '' }
  const extra = { ...common, group: 'authentication.k8s.io', resource: 'userextras' }
  expect(impersonationActions(found)).toEqual([
    { ...common, resource: 'users', name: 'ann' },
    { ...common, resource: 'groups', name: 'dev' },
    { ...common, resource: 'groups', name: 'ops' },
    { ...common, group: 'authentication.k8s.io', resource: 'uids', name: 'u1' },
    { ...extra, subresource: 'example.com/scope', name: 'a' },
    { ...extra, subresource: 'example.com/scope', name: 'b' },
  ])
  expect(impersonatedUser(found)).toEqual({
    name: 'ann',
    uid: 'u1',
    groups: ['dev', 'ops', 'system:authenticated'],
    extra: new Map([['example.com/scope', ['a', 'b']]]),
  })
})

test('two ways to write one extra key are one key, whose values are all checked', () => {
  const found = read(
    USER,
    ['Impersonate-Extra-Scope', 'a'],
    ['Impersonate-Extra-%53cope', 'b'],
    ['Impersonate-Extra-sco%70e', 'c'],
  )
  expect([...found.extra]).toEqual([['scope', ['a', 'b', 'c']]])
  const extra = impersonationActions(found).slice(1)
  expect(extra.map(({ subresource, name }) => [subresource, name])).toEqual([
    ['scope', 'a'],
    ['scope', 'b'],
    ['scope', 'c'],
  ])
})

test('who impersonates the group of the unauthenticated is not authenticated, too', () => {
  const found = read(USER, ['Impersonate-Group', 'system:unauthenticated'])
  expect(impersonatedUser(found).groups).toEqual(['system:unauthenticated'])
})

test('a comma makes no second group', () => {
  const found = read(USER, ['Impersonate-Group', 'g0, system:masters'])
  expect(impersonatedUser(found).groups).toEqual(['g0, system:masters', 'system:authenticated'])
})

test('an account is impersonated with its groups, by permission for the account', () => {
  const found = read(['Impersonate-User', 'system:serviceaccount:shop:builder'])
  expect(impersonationActions(found)).toEqual([
    {
      verb: 'impersonate',
      group: '',
      resource: 'serviceaccounts',
      subresource: '',
      namespace: 'shop',
      name: 'builder',
    },
  ])
  expect(impersonatedUser(found).groups).toEqual([
    'system:serviceaccounts',
    'system:serviceaccounts:shop',
    'system:authenticated',
  ])
  const with1 = read(
    ['Impersonate-User', 'system:serviceaccount:shop:builder'],
    ['Impersonate-Group', 'dev'],
  )
  expect(impersonatedUser(with1).groups).toEqual(['dev', 'system:authenticated'])
})

test.each([
  ['system:serviceaccount:shop', 'users'],
  ['system:serviceaccount::builder', 'users'],
  ['system:serviceaccount:shop:builder:x', 'users'],
  ['System:serviceaccount:shop:builder', 'users'],
])('%s names no account', (name, resource) => {
  expect(impersonationActions(read(['Impersonate-User', name]))[0]).toMatchObject({
    resource,
    name,
  })
})

test('the anonymous user is impersonated as unauthenticated', () => {
  expect(impersonatedUser(read(['Impersonate-User', 'system:anonymous'])).groups).toEqual([
    'system:unauthenticated',
  ])
})

test.each<[string, readonly string[]]>([
  ['a group without a user', ['Impersonate-Group', 'system:masters']],
  ['a uid without a user', ['Impersonate-Uid', 'u']],
  ['an extra value without a user', ['Impersonate-Extra-a', 'b']],
  ['two users', ['Impersonate-User', 'a', 'impersonate-user', 'b']],
  ['two uids', [...USER, 'Impersonate-Uid', 'a', 'Impersonate-Uid', 'b']],
  ['an empty user', ['Impersonate-User', '']],
  ['an empty group', [...USER, 'Impersonate-Group', '']],
  ['an unknown header', [...USER, 'Impersonate-Groups', 'dev']],
  ['an extra value without a key', [...USER, 'Impersonate-Extra-', 'x']],
  ['an extra key that is wrongly encoded', [...USER, 'Impersonate-Extra-%zz', 'x']],
])('%s is a fault of the client', (_what, headers) => {
  expect(readImpersonation(headers)).toEqual({ fault: expect.any(String) })
})
