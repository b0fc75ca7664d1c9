import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'

export function checkServiceCidr(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'subdomain' })
}
