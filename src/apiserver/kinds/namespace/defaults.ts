import { NAMESPACE_NAME } from '../../../resources/label-names.ts'
import { own, type Raw } from '../../../resources/raw.ts'
import { change, changePresent } from '../shared/edit.ts'

/** Every namespace can be selected by a label that is its name. */
export function defaultNamespace(namespace: Raw): Raw {
  return changePresent(namespace, 'metadata', (metadata) => {
    const name = own(metadata, 'name')
    if (typeof name !== 'string') return metadata
    return change(metadata, 'labels', (labels) => ({ ...labels, [NAMESPACE_NAME]: name }))
  })
}
