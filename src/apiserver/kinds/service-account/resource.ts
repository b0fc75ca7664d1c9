import type { Resource } from '../../resource/resource.ts'
import { columns } from './columns.ts'
import { tokenRequest } from './token-request.ts'
import { checkServiceAccount } from './validation.ts'

export const serviceAccounts: Resource = {
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  kind: 'ServiceAccount',
  shortNames: ['sa'],
  categories: [],
  namespaced: true,
  returnsDeleted: true,
  versions: [{ group: '', version: 'v1' }],
  answered: [tokenRequest],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: () => ({}),
  columns,
  validate: checkServiceAccount,
  validateUpdate: 'none',
  defaults: 'none',
}
