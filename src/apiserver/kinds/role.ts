import { stringAt } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'
import { aliasVersions } from './alias-versions.ts'

const createdAt = column('Created At', 'When it was created.', (object) =>
  stringAt(object, 'metadata', 'creationTimestamp'),
)

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
  columns: [nameColumn, createdAt],
}

export const clusterRoles: Resource = {
  ...roles,
  plural: 'clusterroles',
  singular: 'clusterrole',
  kind: 'ClusterRole',
  namespaced: false,
}
