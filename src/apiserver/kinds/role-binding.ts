import { readBinding } from '../../auth/rbac/binding.ts'
import { arrayAt, isJsonObject, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { canonicalGroup, RBAC_GROUP } from '../../resources/api-groups.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isLabel } from '../../resources/names.ts'
import { ownField, type Raw, type Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn, wideColumn } from '../resource/column.ts'
import type { Resource, WriterCheck } from '../resource/resource.ts'
import { notFound } from '../status/status.ts'
import { checkName, checkUnchanged, LABEL_FAULT } from './shared/checks.ts'
import { changeEach, changePresent, fill } from './shared/edit.ts'
import { escalation, grantsSame } from './shared/escalation.ts'

const GROUP_FAULT = `must be ${RBAC_GROUP} or rbac.authorization.orch.io`

/**
 * 403 for a user who binds a role without holding its rules where the binding grants them; 404 when the role
 * does not exist. A user who may `bind` the role need not hold its rules.
 */
export const checkBindingWriter: WriterCheck = (writer, next, old) => {
  if (old !== undefined && grantsSame(next, old)) {
    return undefined
  }
  const { kind, namespace, name, role } = readBinding(next)
  const resource = role.kind === 'Role' ? 'roles' : 'clusterroles'
  const referred = { group: RBAC_GROUP, name: role.name }
  const action = { verb: 'bind', resource, subresource: '', namespace, ...referred }
  if (writer.permits(action)) return undefined
  const rules = writer.rulesOfRole(role)
  if (rules === undefined) return notFound({ plural: resource, ...referred })
  const plural = kind === 'RoleBinding' ? 'rolebindings' : 'clusterrolebindings'
  return escalation(writer, { plural, group: RBAC_GROUP, name }, { rules, namespace })
}

const ORCH_GROUP = 'rbac.authorization.orch.io'

const columns: readonly Column[] = [
  nameColumn,
  column('Role', 'The role that is granted.', roleText),
  ageColumn,
  wideColumn('Users', 'Users that it is granted to.', (object) => subjects(object, 'User')),
  wideColumn('Groups', 'Groups that it is granted to.', (object) => subjects(object, 'Group')),
  wideColumn('ServiceAccounts', 'Accounts that it is granted to.', (object) =>
    subjects(object, 'ServiceAccount'),
  ),
]

export const roleBindings: Resource = {
  plural: 'rolebindings',
  singular: 'rolebinding',
  kind: 'RoleBinding',
  namespaced: true,
  versions: [
    { group: 'rbac.authorization.k8s.io', version: 'v1', toStored: canonicalBinding },
    {
      group: 'rbac.authorization.orch.io',
      version: 'v1',
      fromStored: bindingOfOrch,
      toStored: canonicalBinding,
    },
  ],
  createOnUpdate: true,
  columns,
  checkWriter: checkBindingWriter,
  validate: checkRoleBinding,
  validateUpdate: checkBindingUpdate,
  defaults: defaultBinding,
}

export const clusterRoleBindings: Resource = {
  ...roleBindings,
  plural: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  kind: 'ClusterRoleBinding',
  namespaced: false,
  validate: checkClusterRoleBinding,
}

function roleText(object: JsonObject): string {
  return `${stringAt(object, 'roleRef', 'kind')}/${stringAt(object, 'roleRef', 'name')}`
}

function subjects(object: JsonObject, kind: string): string {
  const those = arrayAt(object, 'subjects').filter((one) => stringAt(one, 'kind') === kind)
  const names = those.map((one) => {
    const namespace = kind === 'ServiceAccount' ? `${stringAt(one, 'namespace')}/` : ''
    return namespace + stringAt(one, 'name')
  })
  return names.join(', ')
}

/** A binding whose role and subjects name the RBAC group by its stored name, whichever name was sent. */
function canonicalBinding(binding: JsonObject): JsonObject {
  return renameGroups(binding, canonicalGroup)
}

/** The stored binding as the served version of our own group shows it. */
function bindingOfOrch(binding: JsonObject): JsonObject {
  return renameGroups(binding, (group) => (group === RBAC_GROUP ? ORCH_GROUP : group))
}

function renameGroups(binding: JsonObject, rename: (group: string) => string): JsonObject {
  const renamed = (reference: Json): Json => {
    if (!isJsonObject(reference)) return reference
    const group = reference['apiGroup']
    return typeof group === 'string' ? { ...reference, apiGroup: rename(group) } : reference
  }
  const { roleRef, subjects } = binding
  return {
    ...binding,
    ...(roleRef === undefined ? {} : { roleRef: renamed(roleRef) }),
    ...(Array.isArray(subjects) ? { subjects: arrayAt(binding, 'subjects').map(renamed) } : {}),
  }
}

/** Users, groups and roles are of the RBAC group; ServiceAccounts are of the core group. */
function defaultBinding(binding: Raw): Raw {
  const referred = changePresent(binding, 'roleRef', ofGroup)
  return changeEach(referred, 'subjects', (subject) => {
    const kind = ownField(subject, 'kind')
    return kind === 'User' || kind === 'Group' ? ofGroup(subject) : subject
  })
}

function ofGroup(reference: Raw): Raw {
  return fill(reference, { apiGroup: RBAC_GROUP })
}

function checkRoleBinding(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'segment' })
  checkRoleRef(object, ['Role', 'ClusterRole'])
  for (const subject of object.objects('subjects')) checkSubject(subject)
}

function checkClusterRoleBinding(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'segment' })
  checkRoleRef(object, ['ClusterRole'])
  for (const subject of object.objects('subjects')) checkSubject(subject)
}

function checkRoleRef(object: Reader, kinds: readonly unknown[]): void {
  if (object.value('roleRef') === undefined) {
    object.refuse('roleRef', 'must name the role that is granted')
    return
  }
  const role = object.object('roleRef')
  if (role.value('apiGroup') !== RBAC_GROUP) role.refuse('apiGroup', GROUP_FAULT)
  if (!kinds.includes(role.value('kind'))) role.refuse('kind', `must be ${kinds.join(' or ')}`)
  checkName(role, 'segment')
}

/** ServiceAccounts are of the core group and of a namespace; users and groups of neither. */
function checkSubject(subject: Reader): void {
  const kind = subject.value('kind')
  const group = subject.value('apiGroup') ?? ''
  if (kind === 'ServiceAccount') {
    checkName(subject, 'subdomain')
    const namespace = subject.value('namespace')
    if (typeof namespace !== 'string' || !isLabel(namespace)) {
      subject.refuse('namespace', LABEL_FAULT)
    }
    if (group !== '') subject.refuse('apiGroup', 'must be empty for a ServiceAccount')
    return
  }
  if (kind !== 'User' && kind !== 'Group') {
    subject.refuse('kind', 'must be ServiceAccount, User or Group')
    return
  }
  const name = subject.value('name')
  if (typeof name !== 'string' || name === '') subject.refuse('name', 'must be a name')
  if (group !== RBAC_GROUP) subject.refuse('apiGroup', GROUP_FAULT)
}

/** The role of a binding is immutable, so that a user who may change its subjects cannot grant them more. */
function checkBindingUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next, old, 'roleRef')
}
