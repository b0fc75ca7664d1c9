import type { JsonObject } from '../../lib/json.ts'
import { RBAC_GROUP } from '../../resources/api-groups.ts'
import { BOOTSTRAPPING } from '../../resources/label-names.ts'

/** A ClusterRole that the server creates or repairs at its start. */
export interface BuiltinRole {
  readonly name: string
  readonly rules: readonly RoleRule[]
  /** The aggregated role of this name gets its rules, too. */
  readonly partOf?: string
  /** Its rules are those of all roles that are part of it. */
  readonly isAggregated?: true
}

export interface RoleRule {
  readonly [key: string]: string[]
  readonly verbs: string[]
}

/** Who holds a built-in role in the whole cluster. */
export interface BuiltinBinding {
  /** The name of both the binding and the role. */
  readonly name: string
  readonly groups?: readonly string[]
  readonly users?: readonly string[]
  /** As `namespace/name`. */
  readonly accounts?: readonly string[]
}

export const READ = ['get', 'list', 'watch']
export const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection']

/** `group`: empty for the core group. */
export function resourceRule(
  verbs: readonly string[],
  group: string,
  ...resources: string[]
): RoleRule {
  return { verbs: [...verbs], apiGroups: [group], resources }
}

export function pathRule(...nonResourceURLs: string[]): RoleRule {
  return { verbs: ['get'], nonResourceURLs }
}

/** The annotation of objects that the server owns and repairs at each start. */
export const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate'

function aggregationLabel(role: string): string {
  return `rbac.authorization.k8s.io/aggregate-to-${role}`
}

/** The role as it is stored. */
export function roleObject({ name, rules, partOf, isAggregated }: BuiltinRole): JsonObject {
  const labels = { [BOOTSTRAPPING]: 'rbac-defaults' }
  const metadata = {
    name,
    annotations: { [AUTOUPDATE]: 'true' },
    labels: partOf === undefined ? labels : { ...labels, [aggregationLabel(partOf)]: 'true' },
  }
  const selector = { matchLabels: { [aggregationLabel(name)]: 'true' } }
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'ClusterRole',
    metadata,
    ...(isAggregated && { aggregationRule: { clusterRoleSelectors: [selector] } }),
    rules: [...rules],
  }
}

/** The binding as it is stored. */
export function bindingObject(binding: BuiltinBinding): JsonObject {
  const { name, groups = [], users = [], accounts = [] } = binding
  const of = (kind: string) => (subject: string) => ({ apiGroup: RBAC_GROUP, kind, name: subject })
  const account = (path: string) => {
    const [namespace = '', accountName = ''] = path.split('/')
    return { kind: 'ServiceAccount', namespace, name: accountName }
  }
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: {
      name,
      annotations: { [AUTOUPDATE]: 'true' },
      labels: { [BOOTSTRAPPING]: 'rbac-defaults' },
    },
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
    subjects: [...groups.map(of('Group')), ...users.map(of('User')), ...accounts.map(account)],
  }
}
