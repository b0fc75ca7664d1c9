import { RBAC_GROUP } from '../../../resources/api-groups.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import { isLabel } from '../../../resources/names.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkName, LABEL_FAULT } from '../shared/checks.ts'
import { checkUnchanged } from '../shared/immutable.ts'

const GROUP_FAULT = `must be ${RBAC_GROUP} or rbac.authorization.orch.io`

export function checkRoleBinding(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'segment' })
  checkRoleRef(object, ['Role', 'ClusterRole'])
  for (const subject of object.objects('subjects')) checkSubject(subject)
}

export function checkClusterRoleBinding(object: Reader): void {
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

/** The role of a binding, so that who may change its subjects cannot raise what they get. */
export function checkBindingUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next, old, 'roleRef')
}
