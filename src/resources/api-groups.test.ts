import { expect, test } from 'vitest'
import { canonicalGroup } from './api-groups.ts'

test.each([
  ['rbac.authorization.orch.io', 'rbac.authorization.k8s.io'],
  ['networking.orch.io', 'networking.k8s.io'],
  ['networking.k8s.io', 'networking.k8s.io'],
  ['', ''],
  ['constructor', 'constructor'],
])('%j is %j', (group, canonical) => {
  expect(canonicalGroup(group)).toBe(canonical)
})
