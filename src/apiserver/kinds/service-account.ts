import { arrayAt } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'

export const serviceAccounts: Resource = {
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  kind: 'ServiceAccount',
  shortNames: ['sa'],
  categories: [],
  namespaced: true,
  returnsDeleted: true,
  versions: [{ group: '', version: 'v1' }],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: () => ({}),
  columns: [
    nameColumn,
    column('Secrets', 'How many secrets it may use.', (object) =>
      String(arrayAt(object, 'secrets').length),
    ),
    ageColumn,
  ],
}
