import { stringAt } from '../../lib/json.ts'
import type { Resource } from '../resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'

export const namespaces: Resource = {
  plural: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  shortNames: ['ns'],
  categories: [],
  namespaced: false,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ phase: 'Active' }) },
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: (object) => ({ 'status.phase': stringAt(object, 'status', 'phase') }),
  columns: [
    nameColumn,
    column('Status', 'Active, or being deleted.', (object) => stringAt(object, 'status', 'phase')),
    ageColumn,
  ],
}
