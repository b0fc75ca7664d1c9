import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

const REF = { kind: 'ClusterRole', name: 'system:reader' }
const ACCOUNT = { kind: 'ServiceAccount', name: 'builder', namespace: 'shop' }

function places(kind: string, parts: Raw): readonly string[] {
  const metadata = { name: 'x', ...(kind === 'RoleBinding' ? { namespace: 'shop' } : {}) }
  const object = { metadata, roleRef: REF, subjects: [ACCOUNT], ...parts }
  return placesOf(validateObject(kind, applyDefaults(kind, object)))
}

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ subjects: undefined }, []],
  [
    {
      subjects: [
        { kind: 'User', name: 'a b' },
        { kind: 'Group', name: 'system:all' },
      ],
    },
    [],
  ],
  [{ roleRef: undefined }, ['roleRef (absent)']],
  [{ roleRef: { ...REF, apiGroup: 'x.io' } }, ['roleRef.apiGroup "x.io"']],
  [{ roleRef: { ...REF, kind: 'Pod' } }, ['roleRef.kind "Pod"']],
  [{ roleRef: { kind: 'ClusterRole' } }, ['roleRef.name (absent)']],
  [{ subjects: [{ kind: 'Pod', name: 'x' }] }, ['subjects[0].kind "Pod"']],
  [{ subjects: [{ ...ACCOUNT, namespace: '' }] }, ['subjects[0].namespace ""']],
  [{ subjects: [{ ...ACCOUNT, name: 'A' }] }, ['subjects[0].name "A"']],
  [{ subjects: [{ ...ACCOUNT, apiGroup: 'x.io' }] }, ['subjects[0].apiGroup "x.io"']],
  [{ subjects: [{ kind: 'User', name: '' }] }, ['subjects[0].name ""']],
  [{ subjects: [{ kind: 'User', name: 'x', apiGroup: 'v1' }] }, ['subjects[0].apiGroup "v1"']],
])('a binding with %j: %j', (parts, expected) => {
  expect(places('RoleBinding', parts)).toEqual(expected)
  expect(places('ClusterRoleBinding', parts)).toEqual(expected)
})

test('a role of a namespace is bound in its namespace only', () => {
  const roleRef = { kind: 'Role', name: 'reader' }
  expect(places('RoleBinding', { roleRef })).toEqual([])
  expect(places('ClusterRoleBinding', { roleRef })).toEqual(['roleRef.kind "Role"'])
})
