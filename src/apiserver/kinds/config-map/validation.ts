import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkData, checkDataSize, isReadable } from '../shared/data-map.ts'

export function checkConfigMap(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  object.flag('immutable')
  checkDataSize(
    object,
    checkData(object, 'data', 'text') + checkData(object, 'binaryData', 'base64'),
  )
  if (!isReadable(object, 'data') || !isReadable(object, 'binaryData')) return
  const texts = new Set(object.object('data').keys())
  const twice = object
    .object('binaryData')
    .keys()
    .find((key) => texts.has(key))
  if (twice !== undefined) {
    object.findings.add('binaryData', twice, 'must not have a key that data has as well')
  }
}
