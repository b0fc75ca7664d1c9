import { arrayAt } from '../../../lib/json.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../../resource/column.ts'
import type { Resource } from '../../resource/resource.ts'
import { checkName } from '../shared/checks.ts'
import { tokenRequest } from './token-request.ts'

const columns: readonly Column[] = [
  nameColumn,
  column('Secrets', 'How many secrets it may use.', (object) =>
    String(arrayAt(object, 'secrets').length),
  ),
  ageColumn,
]

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

function checkServiceAccount(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  object.flag('automountServiceAccountToken')
  for (const secret of object.objects('secrets')) checkName(secret, 'subdomain')
  for (const secret of object.objects('imagePullSecrets')) checkName(secret, 'subdomain')
}
