import { valueAt } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'
import { aliasVersions } from './alias-versions.ts'
import { selectorText } from './selector-text.ts'

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
  columns: [
    nameColumn,
    column('Pod-Selector', 'Labels of the pods that it limits.', (object) =>
      selectorText(valueAt(object, 'spec', 'podSelector')),
    ),
    ageColumn,
  ],
}
