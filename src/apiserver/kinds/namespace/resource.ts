import { stringAt } from '../../../lib/json.ts'
import { NAMESPACE_NAME } from '../../../resources/label-names.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import { ownField, type Raw, type Reader } from '../../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../../resource/column.ts'
import type { ContainerResource } from '../../resource/resource.ts'
import { change, changePresent } from '../shared/edit.ts'
import { keepLifecycle, namespaceContainer, namespaceDeletion } from './lifecycle.ts'

const columns: readonly Column[] = [
  nameColumn,
  column('Status', 'Active, or being deleted.', (object) => stringAt(object, 'status', 'phase')),
  ageColumn,
]

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

function checkNamespace(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'label' })
}

/** Every namespace has a label with its name, by which it can be selected. */
function defaultNamespace(namespace: Raw): Raw {
  return changePresent(namespace, 'metadata', (metadata) => {
    const name = ownField(metadata, 'name')
    if (typeof name !== 'string') return metadata
    return change(metadata, 'labels', (labels) => ({ ...labels, [NAMESPACE_NAME]: name }))
  })
}
