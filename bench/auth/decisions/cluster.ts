import { authorize } from '../../../src/auth/rbac/authorizer.ts'
import { Policy } from '../../../src/auth/rbac/policy.ts'
import type { JsonObject } from '../../../src/lib/json.ts'

const ROLES = 1_000
const BINDINGS = 5_000
const NAMESPACES = 100
const USERS = 2_000
const GROUPS = 50

/** Roles and bindings, with numbered questions about them; half of the answers are yes. */
export interface Cluster {
  readonly roles: number
  readonly bindings: number
  /** Decides as the server does, which finds bindings by their subject. */
  readonly isPermitted: (index: number) => boolean
  /** Decides by checking all bindings one after the other, without an index. */
  readonly scan: (index: number) => boolean
}

export function makeCluster(): Cluster {
  const roles = Array.from({ length: ROLES }, (_, index) => roleObject(index))
  const bindings = Array.from({ length: BINDINGS }, (_, index) => bindingObject(index))
  const policy = policyOf(roles, bindings)
  const singles = bindings.map((binding, index) => policyOf([roles[index % ROLES]!], [binding]))
  return {
    roles: ROLES,
    bindings: BINDINGS,
    isPermitted: (index) => decide(policy, index),
    scan: (index) => singles.some((single) => decide(single, index)),
  }
}

function roleObject(index: number): JsonObject {
  return {
    metadata: { name: `role-${index}` },
    rules: [
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: [''],
        resources: [`kind-${index % 40}`, 'pods'],
      },
      { verbs: ['*'], apiGroups: ['apps'], resources: ['deployments', 'deployments/scale'] },
      {
        verbs: ['get'],
        apiGroups: [''],
        resources: ['configmaps'],
        resourceNames: [`name-${index}`],
      },
    ],
  }
}

function bindingObject(index: number): JsonObject {
  return {
    metadata: { name: `binding-${index}`, namespace: `namespace-${index % NAMESPACES}` },
    roleRef: { kind: 'ClusterRole', name: `role-${index % ROLES}` },
    subjects: [
      { kind: 'User', name: `user-${index % USERS}` },
      { kind: 'Group', name: `group-${index % GROUPS}` },
    ],
  }
}

function policyOf(roles: readonly JsonObject[], bindings: readonly JsonObject[]): Policy {
  const policy = new Policy()
  for (const role of roles) policy.setRole(role)
  for (const binding of bindings) policy.setBinding(binding)
  return policy
}

function decide(policy: Policy, index: number): boolean {
  const user = {
    name: `user-${index % USERS}`,
    groups: [`group-${index % GROUPS}`, 'system:authenticated'],
  }
  const action = {
    verb: index % 2 === 0 ? 'list' : 'delete',
    group: '',
    resource: 'pods',
    subresource: '',
    name: '',
    namespace: `namespace-${index % NAMESPACES}`,
  }
  return authorize(policy, user, action).isAllowed
}
