import type { Resource } from '../../resource/resource.ts'
import { checkImmutableData } from '../shared/immutable.ts'
import { columns } from './columns.ts'
import { defaultConfigMap } from './defaults.ts'
import { checkConfigMap } from './validation.ts'

export const configMaps: Resource = {
  plural: 'configmaps',
  singular: 'configmap',
  kind: 'ConfigMap',
  shortNames: ['cm'],
  categories: [],
  namespaced: true,
  isConfidential: true,
  versions: [{ group: '', version: 'v1' }],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: () => ({}),
  columns,
  validate: checkConfigMap,
  validateUpdate: checkImmutableData,
  defaults: defaultConfigMap,
}
