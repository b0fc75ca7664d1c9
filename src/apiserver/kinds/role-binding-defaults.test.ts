import { expect, test } from 'vitest'
import { RBAC_GROUP } from '../../resources/api-groups.ts'
import { applyDefaults } from './testing/rules-by-kind.ts'

test('roles, users and groups are of the RBAC group, accounts of the core group', () => {
  const subjects = ['User', 'Group', 'ServiceAccount', 'Robot'].map((kind) => ({ kind }))
  const roleRef = { kind: 'Role', apiGroup: '' }
  expect(applyDefaults('RoleBinding', { roleRef, subjects })).toEqual({
    roleRef: { kind: 'Role', apiGroup: RBAC_GROUP },
    subjects: [
      { kind: 'User', apiGroup: RBAC_GROUP },
      { kind: 'Group', apiGroup: RBAC_GROUP },
      { kind: 'ServiceAccount' },
      { kind: 'Robot' },
    ],
  })
  expect(applyDefaults('ClusterRoleBinding', {})).toEqual({})
})
