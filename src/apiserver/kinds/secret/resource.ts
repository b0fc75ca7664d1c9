import { stringAt } from '../../../lib/json.ts'
import type { Resource } from '../../resource/resource.ts'
import { columns } from './columns.ts'
import { defaultSecret } from './defaults.ts'
import { checkSecret, checkSecretUpdate } from './validation.ts'

export const secrets: Resource = {
  plural: 'secrets',
  singular: 'secret',
  kind: 'Secret',
  shortNames: [],
  categories: [],
  namespaced: true,
  isConfidential: true,
  versions: [{ group: '', version: 'v1' }],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: (object) => ({ type: stringAt(object, 'type') }),
  columns,
  validate: checkSecret,
  validateUpdate: checkSecretUpdate,
  defaults: defaultSecret,
}
