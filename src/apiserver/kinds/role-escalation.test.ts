import { expect, test } from 'vitest'
import type { WriterAccess } from '../../auth/rbac/authorizer.ts'
import { EVERYTHING, type PolicyRule, rulesOfRole } from '../../auth/rbac/policy-rule.ts'
import type { JsonObject } from '../../lib/json.ts'
import { checkClusterRoleWriter, checkRoleWriter } from './role.ts'

const PODS = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const SECRETS = { ...PODS, resources: ['secrets'] }
const AGGREGATED = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }

/** A writer that holds rules by namespace (empty: everywhere), and may `escalate` in some of them. */
function writer(
  held: Readonly<Record<string, JsonObject[]>>,
  escalates: string[] = [],
): WriterAccess {
  return {
    user: { name: 'ann', groups: [] },
    permits: ({ verb, namespace }) => verb === 'escalate' && escalates.includes(namespace),
    rulesIn: (namespace): readonly PolicyRule[] => rulesOfRole({ rules: held[namespace] ?? [] }),
    rulesOfRole: () => undefined,
  }
}

function role(rules: JsonObject[], more: JsonObject = {}): JsonObject {
  return { metadata: { name: 'r', namespace: 'shop' }, rules, ...more }
}

function clusterRole(rules: JsonObject[], more: JsonObject = {}): JsonObject {
  return { metadata: { name: 'r' }, rules, ...more }
}

const IN_SHOP = writer({ shop: [PODS] })
const EVERYWHERE = writer({ '': [PODS] })
const AS_MASTER: WriterAccess = { ...EVERYWHERE, rulesIn: () => EVERYTHING }

test('rules are held where the role is: in its namespace, or everywhere', () => {
  expect(checkRoleWriter(IN_SHOP, role([PODS]), undefined)).toBe(undefined)
  expect(checkClusterRoleWriter(EVERYWHERE, clusterRole([PODS]), undefined)).toBe(undefined)
  expect(checkClusterRoleWriter(IN_SHOP, clusterRole([PODS]), undefined)?.status.code).toBe(403)
  const elsewhere = writer({ bank: [PODS] })
  expect(checkRoleWriter(elsewhere, role([PODS]), undefined)?.status.code).toBe(403)
})

test('who may escalate need not hold the rules', () => {
  expect(checkRoleWriter(writer({}, ['shop']), role([SECRETS]), undefined)).toBe(undefined)
  expect(checkRoleWriter(writer({}, ['bank']), role([SECRETS]), undefined)?.status.code).toBe(403)
  const cluster = writer({}, [''])
  expect(checkClusterRoleWriter(cluster, clusterRole([SECRETS]), undefined)).toBe(undefined)
})

test.each<[string, JsonObject, JsonObject]>([
  ['adds a rule', clusterRole([PODS, SECRETS]), clusterRole([PODS])],
  ['adds aggregation', clusterRole([PODS], { aggregationRule: AGGREGATED }), clusterRole([PODS])],
  ['drops aggregation', clusterRole([PODS]), clusterRole([PODS], { aggregationRule: AGGREGATED })],
  [
    'changes what is aggregated',
    clusterRole([PODS], { aggregationRule: { clusterRoleSelectors: [{}] } }),
    clusterRole([PODS], { aggregationRule: AGGREGATED }),
  ],
  [
    'labels a role whose rules it does not hold',
    clusterRole([SECRETS], { metadata: { name: 'r', labels: { a: 'b' } } }),
    clusterRole([SECRETS]),
  ],
])('who holds the rules, but not all, is refused when it %s', (_what, next, old) => {
  expect(checkClusterRoleWriter(EVERYWHERE, next, old)?.status.code).toBe(403)
  expect(checkClusterRoleWriter(AS_MASTER, next, old)).toBe(undefined)
})

test.each([
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
])('%j is not enough for a role that may contain any rule', (held) => {
  const next = clusterRole([], { aggregationRule: AGGREGATED })
  const who = { ...AS_MASTER, rulesIn: () => [held] }
  expect(checkClusterRoleWriter(who, next, undefined)?.status.code).toBe(403)
})

test('a change of metadata alone is no grant', () => {
  const [next, old] = [clusterRole([SECRETS]), clusterRole([SECRETS])]
  next['metadata'] = { name: 'r', annotations: { a: 'b' } }
  expect(checkClusterRoleWriter(writer({}), next, old)).toBe(undefined)
  expect(checkRoleWriter(writer({}), role([SECRETS]), role([SECRETS]))).toBe(undefined)
})

test('rules that are too many to compare are refused', () => {
  const many = Array.from({ length: 300 }, (_, index) => `x${index}`)
  const huge = { verbs: many, apiGroups: [''], resources: many }
  const refused = checkRoleWriter(IN_SHOP, role([huge]), undefined)
  expect([refused?.status.code, refused?.status.message]).toEqual([
    403,
    expect.stringMatching(/too many to compare$/u),
  ])
})
