import { stringAt } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'
import { aliasVersions } from './alias-versions.ts'

export const leases: Resource = {
  plural: 'leases',
  singular: 'lease',
  kind: 'Lease',
  shortNames: [],
  categories: [],
  namespaced: true,
  versions: aliasVersions('coordination', 'v1'),
  createOnUpdate: true,
  updateNeedsVersion: true,
  countsGenerations: false,
  fields: () => ({}),
  columns: [
    nameColumn,
    column('Holder', 'Who holds it.', (object) => stringAt(object, 'spec', 'holderIdentity')),
    ageColumn,
  ],
}
