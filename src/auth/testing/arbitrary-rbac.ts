import fc from 'fast-check'
import type { JsonObject } from '../../lib/json.ts'
import type { Action } from '../action.ts'
import type { User } from '../user.ts'

const NAMESPACES = ['shop', 'bank']
const NAMES = ['a', 'b', 'c']
const USERS = ['ann', 'bob', 'system:serviceaccount:shop:a', 'system:serviceaccount:bank:b']
const GROUPS = ['dev', 'ops', 'system:serviceaccounts:shop']
const API_GROUPS = ['', 'apps', 'networking.k8s.io']

const some = (values: readonly string[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 })

const resourceRule = fc.record({
  verbs: some(['get', 'list', 'create', 'delete', '*']),
  apiGroups: some([...API_GROUPS, 'networking.orch.io', '*']),
  resources: some(['pods', 'services', 'pods/log', 'pods/status', '*/status', '*']),
  resourceNames: fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: some(NAMES) },
  ),
})

const pathRule = fc.record({
  verbs: some(['get', 'post', '*']),
  nonResourceURLs: some(['/metrics', '/metrics/*', '/logs/*', '/logs*', '*']),
})

/** A rule as roles hold it. */
export const arbitraryRule: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 4, arbitrary: resourceRule },
  { weight: 1, arbitrary: pathRule },
)

/** A Role of a namespace, or a ClusterRole. */
export const arbitraryRole: fc.Arbitrary<JsonObject> = fc.record({
  metadata: arbitraryMetadata(),
  rules: fc.array(arbitraryRule, { maxLength: 3 }),
})

const arbitrarySubject: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ kind: fc.constant('User'), name: fc.constantFrom(...USERS) }),
  fc.record({ kind: fc.constant('Group'), name: fc.constantFrom(...GROUPS) }),
  fc.record({
    kind: fc.constant('ServiceAccount'),
    name: fc.constantFrom(...NAMES),
    namespace: fc.constantFrom('', ...NAMESPACES),
  }),
)

/** A RoleBinding or ClusterRoleBinding; its role may not exist. */
export const arbitraryBinding: fc.Arbitrary<JsonObject> = fc.record({
  metadata: arbitraryMetadata(),
  roleRef: fc.record({
    kind: fc.constantFrom('Role', 'ClusterRole'),
    name: fc.constantFrom(...NAMES),
  }),
  subjects: fc.array(arbitrarySubject, { maxLength: 3 }),
})

export const arbitraryUser: fc.Arbitrary<User> = fc.record({
  name: fc.constantFrom(...USERS),
  groups: fc.uniqueArray(fc.constantFrom(...GROUPS), { maxLength: 2 }),
})

/** Verbs, resources, names and paths; about half of them occur in the rules. */
export const arbitraryAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constantFrom('get', 'list', 'create', 'delete', 'watch'),
      group: fc.constantFrom(...API_GROUPS),
      resource: fc.constantFrom('pods', 'services', 'nodes'),
      subresource: fc.constantFrom('', '', 'log', 'status'),
      namespace: fc.constantFrom('', ...NAMESPACES),
      name: fc.constantFrom('', ...NAMES),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constantFrom('get', 'post'),
      path: fc.constantFrom('/metrics', '/metrics/', '/metrics/x', '/logs', '/logs/a/b', '/x'),
    }),
  },
)

function arbitraryMetadata(): fc.Arbitrary<JsonObject> {
  const name = fc.constantFrom(...NAMES)
  return fc.oneof(
    fc.record({ name }),
    fc.record({ name, namespace: fc.constantFrom(...NAMESPACES) }),
  )
}
