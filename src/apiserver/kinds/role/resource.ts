import type { Resource } from '../../resource/resource.ts'
import { aliasVersions } from '../shared/alias-versions.ts'
import { columns } from './columns.ts'
import { checkClusterRoleWriter, checkRoleWriter } from './escalation.ts'
import { checkClusterRole, checkRole } from './validation.ts'

export const roles: Resource = {
  plural: 'roles',
  singular: 'role',
  kind: 'Role',
  shortNames: [],
  categories: [],
  namespaced: true,
  versions: aliasVersions('rbac.authorization', 'v1'),
  createOnUpdate: true,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: () => ({}),
  columns,
  checkWriter: checkRoleWriter,
  validate: checkRole,
  validateUpdate: 'none',
  defaults: 'none',
}

export const clusterRoles: Resource = {
  ...roles,
  plural: 'clusterroles',
  singular: 'clusterrole',
  kind: 'ClusterRole',
  namespaced: false,
  checkWriter: checkClusterRoleWriter,
  validate: checkClusterRole,
}
