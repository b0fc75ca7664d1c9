import type { Resource } from '../../resource/resource.ts'
import { columns } from './columns.ts'
import { defaultEndpoints } from './defaults.ts'
import { checkEndpoints } from './validation.ts'

export const endpoints: Resource = {
  plural: 'endpoints',
  singular: 'endpoints',
  kind: 'Endpoints',
  shortNames: ['ep'],
  categories: [],
  namespaced: true,
  versions: [{ group: '', version: 'v1' }],
  createOnUpdate: true,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: () => ({}),
  columns,
  validate: checkEndpoints,
  validateUpdate: 'none',
  defaults: defaultEndpoints,
}
