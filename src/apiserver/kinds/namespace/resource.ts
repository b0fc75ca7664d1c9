import { stringAt } from '../../../lib/json.ts'
import type { ContainerResource } from '../../resource/resource.ts'
import { columns } from './columns.ts'
import { defaultNamespace } from './defaults.ts'
import { keepLifecycle, namespaceContainer, namespaceDeletion } from './lifecycle.ts'
import { checkNamespace } from './validation.ts'

export const namespaces: ContainerResource = {
  plural: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  shortNames: ['ns'],
  categories: [],
  namespaced: false,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ phase: 'Active' }) },
  deletedOneByOne: true,
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  reserved: { subresource: 'finalize', keep: keepLifecycle },
  deletion: namespaceDeletion,
  container: namespaceContainer,
  fields: (object) => ({ 'status.phase': stringAt(object, 'status', 'phase') }),
  columns,
  validate: checkNamespace,
  validateUpdate: 'none',
  defaults: defaultNamespace,
}
