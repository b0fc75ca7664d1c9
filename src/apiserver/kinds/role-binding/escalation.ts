import { readBinding } from '../../../auth/rbac/binding.ts'
import { RBAC_GROUP } from '../../../resources/api-groups.ts'
import type { WriterCheck } from '../../resource/resource.ts'
import { notFound } from '../../status/status-errors.ts'
import { escalation, grantsSame } from '../shared/escalation.ts'

/**
 * 403 for who would bind a role without having its rules where the binding grants them; 404 when
 * there is no such role. Who may `bind` the role need not have them.
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
