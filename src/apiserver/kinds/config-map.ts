import { type JsonObject, objectAt } from '../../lib/json.ts'
import type { Resource } from '../resource/resource.ts'
import { ageColumn, nameColumn } from '../table/age.ts'
import { column } from '../table/column.ts'

export const configMaps: Resource = {
  plural: 'configmaps',
  singular: 'configmap',
  kind: 'ConfigMap',
  shortNames: ['cm'],
  categories: [],
  namespaced: true,
  versions: [{ group: '', version: 'v1' }],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: () => ({}),
  columns: [nameColumn, column('Data', 'How many entries it has.', entries), ageColumn],
}

function entries(object: JsonObject): string {
  const count = ['data', 'binaryData'].map((field) => Object.keys(objectAt(object, field)).length)
  return String(count.reduce((sum, one) => sum + one, 0))
}
