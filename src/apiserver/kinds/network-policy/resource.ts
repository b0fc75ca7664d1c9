import type { Resource } from '../../resource/resource.ts'
import { aliasVersions } from '../shared/alias-versions.ts'
import { columns } from './columns.ts'
import { defaultNetworkPolicy } from './defaults.ts'
import { checkNetworkPolicy } from './validation.ts'

export const networkPolicies: Resource = {
  plural: 'networkpolicies',
  singular: 'networkpolicy',
  kind: 'NetworkPolicy',
  shortNames: ['netpol'],
  categories: [],
  namespaced: true,
  versions: aliasVersions('networking', 'v1'),
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: true,
  fields: () => ({}),
  columns,
  validate: checkNetworkPolicy,
  validateUpdate: 'none',
  defaults: defaultNetworkPolicy,
}
