import type { Resource } from '../../resource/resource.ts'
import { columns } from './columns.ts'
import { defaultBinding } from './defaults.ts'
import { checkBindingWriter } from './escalation.ts'
import { bindingOfOrch, canonicalBinding } from './group-names.ts'
import { checkBindingUpdate, checkClusterRoleBinding, checkRoleBinding } from './validation.ts'

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
