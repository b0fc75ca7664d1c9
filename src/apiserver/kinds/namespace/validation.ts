import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'

export function checkNamespace(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'label' })
}
