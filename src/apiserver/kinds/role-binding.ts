import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column, wideColumn } from '../table/column.ts'
import { bindingOfOrch, canonicalBinding } from './binding-groups.ts'

export const roleBindings: Resource = {
  plural: 'rolebindings',
  singular: 'rolebinding',
  kind: 'RoleBinding',
  shortNames: [],
  categories: [],
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
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: () => ({}),
  columns: [
    nameColumn,
    column('Role', 'The role that is granted.', roleText),
    ageColumn,
    wideColumn('Users', 'Users that it is granted to.', (object) => subjects(object, 'User')),
    wideColumn('Groups', 'Groups that it is granted to.', (object) => subjects(object, 'Group')),
    wideColumn('ServiceAccounts', 'Accounts that it is granted to.', (object) =>
      subjects(object, 'ServiceAccount'),
    ),
  ],
}

export const clusterRoleBindings: Resource = {
  ...roleBindings,
  plural: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  kind: 'ClusterRoleBinding',
  namespaced: false,
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
