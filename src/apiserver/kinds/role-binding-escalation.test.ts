import { expect, test } from 'vitest'
import type { WriterAccess } from '../../auth/rbac/authorizer.ts'
import { rulesOfRole } from '../../auth/rbac/policy-rule.ts'
import type { JsonObject } from '../../lib/json.ts'
import { checkBindingWriter } from './role-binding.ts'

const PODS = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const ANN = { kind: 'User', name: 'ann' }

/** A writer that holds the rules of the role `pods` in some namespaces, and may bind roles there. */
function writer(holds: readonly string[], binds: readonly string[] = []): WriterAccess {
  const rules = rulesOfRole({ rules: [PODS] })
  return {
    user: { name: 'ann', groups: [] },
    permits: ({ verb, resource, namespace, name }) =>
      verb === 'bind' && binds.includes(`${resource} ${namespace}/${name}`),
    rulesIn: (namespace) => (holds.includes(namespace) ? rules : []),
    rulesOfRole: ({ name }) => (name === 'pods' ? rules : undefined),
  }
}

function binding(namespace: string, kind = 'ClusterRole', name = 'pods'): JsonObject {
  const metadata = { name: 'b', ...(namespace !== '' && { namespace }) }
  return { metadata, roleRef: { kind, name }, subjects: [ANN] }
}

/** The code of the refusal; 0: there is none. */
function codeOf(who: WriterAccess, next: JsonObject, old?: JsonObject): number {
  const refused = checkBindingWriter(who, next, old)
  return refused === undefined ? 0 : refused.status.code
}

test.each<[number, readonly string[], string]>([
  [0, ['shop'], 'shop'],
  [0, [''], ''],
  [403, ['shop'], 'bank'],
  [403, ['shop', 'default'], ''],
  [403, [], 'shop'],
])('%d: who holds the rules in %j binds the role in %j', (code, holds, namespace) => {
  expect(codeOf(writer(holds), binding(namespace))).toBe(code)
})

test.each<[number, string, string, string]>([
  [0, 'clusterroles shop/pods', 'shop', 'ClusterRole'],
  [0, 'roles shop/pods', 'shop', 'Role'],
  [0, 'clusterroles /pods', '', 'ClusterRole'],
  [403, 'clusterroles /pods', 'shop', 'ClusterRole'],
  [403, 'clusterroles shop/pods', '', 'ClusterRole'],
  [403, 'clusterroles shop/pods', 'bank', 'ClusterRole'],
  [403, 'clusterroles shop/other', 'shop', 'ClusterRole'],
  [403, 'clusterroles shop/pods', 'shop', 'Role'],
  [403, 'roles shop/pods', 'shop', 'ClusterRole'],
])('%d: who may bind %s binds in %j a %s', (code, binds, namespace, kind) => {
  expect(codeOf(writer([], [binds]), binding(namespace, kind))).toBe(code)
})

test('a role that does not exist is bound only by who may bind it', () => {
  expect(codeOf(writer(['shop']), binding('shop', 'ClusterRole', 'gone'))).toBe(404)
  const binder = writer([], ['clusterroles shop/gone'])
  expect(codeOf(binder, binding('shop', 'ClusterRole', 'gone'))).toBe(0)
})

test('a new subject is a new grant, a change of metadata is none', () => {
  const old = binding('shop')
  const next = { ...old, subjects: [ANN, { kind: 'User', name: 'bob' }] }
  expect(codeOf(writer([]), next, old)).toBe(403)
  const labelled = { ...old, metadata: { name: 'b', namespace: 'shop', labels: { a: 'b' } } }
  expect(codeOf(writer([]), labelled, old)).toBe(0)
})
