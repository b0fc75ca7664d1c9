import { arrayAt, type Json, type JsonObject, stringAt } from '../lib/json.ts'
import type { ClusterEvidence } from './evidence/cluster-evidence.ts'
import type { Finding } from './evidence/finding.ts'
import { nameOf, namespaceOf } from './evidence/objects.ts'

/** A request that an account sends. */
export interface Action {
  readonly verb: string
  /** The API group; empty: the core group. */
  readonly group: string
  readonly resource: string
  /** `log` of `pods/log`; empty: the resource itself. */
  readonly subresource: string
  /** Empty: all objects. */
  readonly name: string
  /** Empty: a resource without namespaces. */
  readonly namespace: string
}

/** The finding that an account may not do something: the roles that permit it, and commands that bind the smallest. */
export function refusedAccess(
  account: string,
  action: Action,
  reason: string,
  evidence: ClusterEvidence,
): Finding {
  const roles = permitting(action, evidence)
  const bound = roles.slice(0, SHOWN).map(({ kind, name }) => `${kind} ${name}`)
  return {
    check: 'access-refused',
    symptom: 'Permission denied',
    object: `serviceaccount/${account}`,
    affects: [],
    cause: `it may not ${actionText(action)}`,
    evidence: [
      reason === '' ? 'the API server refuses it (SubjectAccessReview)' : reason,
      bound.length === 0
        ? 'no role that was read permits it'
        : `it is permitted by ${bound.join(', ')}`,
    ],
    remedy:
      bound.length === 0
        ? 'create a role with this rule alone, and bind it to the account'
        : 'bind the smallest role that permits it to the account',
    commands: commandsOf(account, action, roles[0]),
  }
}

const SHOWN = 3

function actionText({ verb, resource, subresource, group, name, namespace }: Action): string {
  const what = `${fullName({ resource, subresource })}${group === '' ? '' : `.${group}`}`
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${namespace}`
  return `${verb} ${what}${name === '' ? '' : ` ${name}`} ${where}`
}

function fullName({ resource, subresource }: Pick<Action, 'resource' | 'subresource'>): string {
  return subresource === '' ? resource : `${resource}/${subresource}`
}

interface PermittingRole {
  readonly kind: 'Role' | 'ClusterRole'
  readonly name: string
  readonly rules: number
  readonly hasWildcard: boolean
}

/** Roles that permit an action, those with the least rules first; built-in ones of the system are left out. */
function permitting(action: Action, evidence: ClusterEvidence): readonly PermittingRole[] {
  const roles = evidence.all('roles').filter((role) => namespaceOf(role) === action.namespace)
  const found = (kind: PermittingRole['kind'], all: readonly JsonObject[]) =>
    all
      .filter((role) => arrayAt(role, 'rules').some((rule) => permits(rule, action)))
      .map((role) => ({
        kind,
        name: nameOf(role),
        rules: arrayAt(role, 'rules').length,
        hasWildcard: arrayAt(role, 'rules').some((rule) => arrayAt(rule, 'verbs').includes('*')),
      }))
  return [...found('Role', roles), ...found('ClusterRole', evidence.all('clusterroles'))]
    .filter(({ name }) => !name.startsWith('system:'))
    .toSorted((a, b) => Number(a.hasWildcard) - Number(b.hasWildcard) || a.rules - b.rules)
}

function permits(rule: Json, action: Action): boolean {
  const has = (key: string, ...wanted: readonly string[]): boolean =>
    arrayAt(rule, key).some((one) => one === '*' || wanted.some((text) => text === one))
  const names = arrayAt(rule, 'resourceNames')
  return (
    has('verbs', action.verb) &&
    has('apiGroups', action.group) &&
    has('resources', fullName(action), `*/${action.subresource}`) &&
    (names.length === 0 || names.includes(action.name))
  )
}

/** Commands that give the account the permission: a binding to a role that exists, or to a new one. */
function commandsOf(
  account: string,
  action: Action,
  role: PermittingRole | undefined,
): readonly string[] {
  const [, name = ''] = account.split('/')
  const isCluster = action.namespace === ''
  const scope = isCluster ? '' : ` -n ${action.namespace}`
  const made = `${name}-${action.verb}-${action.resource}`
  const group = action.group === '' ? '' : `.${action.group}`
  const named = action.name === '' ? '' : ` --resource-name=${action.name}`
  const resource = `${action.resource}${group}${action.subresource === '' ? '' : `/${action.subresource}`}`
  const kind = isCluster ? 'clusterrole' : 'role'
  const create = `orchctl${scope} create ${kind} ${made} --verb=${action.verb} --resource=${resource}${named}`
  const flag = `--${(role?.kind ?? (isCluster ? 'ClusterRole' : 'Role')).toLowerCase()}=${role?.name ?? made}`
  const bind = `orchctl${scope} create ${kind}binding ${made} ${flag} --serviceaccount=${account.replace('/', ':')}`
  return role === undefined ? [create, bind] : [bind]
}

/** The name by which the API server knows an account. */
export function userOf(account: string): string {
  return `system:serviceaccount:${account.replace('/', ':')}`
}

/** The action in the form of a SubjectAccessReview. */
export function resourceAttributes(action: Action): JsonObject {
  return { ...action }
}

/** Why a SubjectAccessReview refuses. */
export function reasonOf(review: JsonObject): string {
  return stringAt(review, 'status', 'reason') || stringAt(review, 'status', 'evaluationError')
}
