import { objectAt, stringAt } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'

export const secrets: Resource = {
  plural: 'secrets',
  singular: 'secret',
  kind: 'Secret',
  shortNames: [],
  categories: [],
  namespaced: true,
  versions: [{ group: '', version: 'v1' }],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: (object) => ({ type: stringAt(object, 'type') }),
  columns: [
    nameColumn,
    column('Type', 'What it is for.', (object) => stringAt(object, 'type')),
    column('Data', 'How many entries it has.', (object) =>
      String(Object.keys(objectAt(object, 'data')).length),
    ),
    ageColumn,
  ],
}
