import { type JsonObject, objectAt } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Raw, Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import { checkImmutableData } from './shared/checks.ts'
import { checkData, checkDataSize, isReadable, joinBase64Lines } from './shared/data-map.ts'
import { changePresent } from './shared/edit.ts'

const columns: readonly Column[] = [
  nameColumn,
  column('Data', 'How many entries it has.', entries),
  ageColumn,
]

export const configMaps: Resource = {
  plural: 'configmaps',
  singular: 'configmap',
  kind: 'ConfigMap',
  shortNames: ['cm'],
  namespaced: true,
  isConfidential: true,
  versions: [{ group: '', version: 'v1' }],
  columns,
  validate: checkConfigMap,
  validateUpdate: checkImmutableData,
  defaults: defaultConfigMap,
}

function defaultConfigMap(map: Raw): Raw {
  return changePresent(map, 'binaryData', joinBase64Lines)
}

function entries(object: JsonObject): string {
  const count = ['data', 'binaryData'].map((field) => Object.keys(objectAt(object, field)).length)
  return String(count.reduce((sum, one) => sum + one, 0))
}

function checkConfigMap(object: Reader): void {
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
