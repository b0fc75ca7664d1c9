import { type JsonObject, objectAt, valueAt } from '../../lib/json.ts'
import { ROOT_CA_CONFIG_MAP } from '../../resources/names.ts'
import { type MetadataObject, readMetadataObject } from './object-meta.ts'
import { readStrings, type StringMap } from './string-map.ts'

/** The fields of a ConfigMap that controllers read: its metadata, and of `kube-root-ca.crt` the data. */
export interface ConfigMapObject extends MetadataObject {
  /** Empty for any other ConfigMap. */
  readonly data: StringMap
  /** Its data cannot be changed. */
  readonly isImmutable: boolean
}

/** Reads a ConfigMap as the API server sent it; see `readMeta` for missing fields. */
export function readConfigMap(object: JsonObject): ConfigMapObject {
  const { meta } = readMetadataObject(object)
  return {
    meta,
    data: meta.name === ROOT_CA_CONFIG_MAP ? readStrings(objectAt(object, 'data')) : {},
    isImmutable: valueAt(object, 'immutable') === true,
  }
}
