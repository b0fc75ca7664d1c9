import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  ownValue,
  scalarText,
  stringAt,
  valueAt,
  without,
} from '../../lib/json.ts'
import { EMPTIED, FOREGROUND, ORPHAN } from '../../resources/label-names.ts'
import { isLabelValue, isQualifiedName } from '../../resources/names.ts'
import { catalogue } from '../kinds/catalogue.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { invalidValue, type StatusCause, tooLongValue } from '../status/status.ts'

const ANNOTATION_BYTES = 256 * 1024

/** Fields of the metadata that typed clients and servers treat as absent when they are empty. */
const COLLECTIONS = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const

/** The object without the empty lists and maps of its metadata. */
export function withoutEmptyMetadata(object: JsonObject): JsonObject {
  const metadata = objectAt(object, 'metadata')
  const empty = COLLECTIONS.filter((field) => isEmpty(ownValue(metadata, field)))
  return empty.length === 0 ? object : { ...object, metadata: without(metadata, ...empty) }
}

function isEmpty(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** What is wrong with an object's labels, annotations, finalizers and owners. */
export function metadataCauses(object: JsonObject): readonly StatusCause[] {
  const metadata = objectAt(object, 'metadata')
  return [
    ...mapCauses('metadata.labels', ownValue(metadata, 'labels'), isLabelValue),
    ...mapCauses('metadata.annotations', ownValue(metadata, 'annotations'), () => true),
    ...sizeCauses(objectAt(metadata, 'annotations')),
    ...finalizerCauses(ownValue(metadata, 'finalizers')),
    ...arrayAt(metadata, 'ownerReferences').flatMap(ownerCauses),
    ...controllerCauses(arrayAt(metadata, 'ownerReferences')),
  ]
}

function mapCauses(
  field: string,
  map: Json | undefined,
  isValue: (value: string) => boolean,
): readonly StatusCause[] {
  if (map === undefined) return []
  if (!isJsonObject(map)) return [invalidValue(field, map, 'must be a map of strings')]
  return Object.entries(map).flatMap(([key, value]) => {
    if (!isKey(field, key)) {
      return [
        invalidValue(
          field,
          key,
          'must be a qualified name: an optional DNS prefix and a slash, then at most 63 characters of [-_.A-Za-z0-9]',
        ),
      ]
    }
    if (typeof value !== 'string')
      return [invalidValue(`${field}[${key}]`, value, 'must be a string')]
    if (isValue(value)) return []
    return [
      invalidValue(
        field,
        value,
        'must be at most 63 characters of [-_.A-Za-z0-9], beginning and ending with a letter or digit',
      ),
    ]
  })
}

/** Whether a key is valid. The prefix of an annotation key may have upper-case letters; that of a label key may not. */
function isKey(field: string, key: string): boolean {
  return isQualifiedName(field === 'metadata.annotations' ? key.toLowerCase() : key)
}

function sizeCauses(annotations: JsonObject): readonly StatusCause[] {
  let bytes = 0
  for (const [key, value] of Object.entries(annotations))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(scalarText(value))
  if (bytes <= ANNOTATION_BYTES) return []
  return [tooLongValue('metadata.annotations', `may not be more than ${ANNOTATION_BYTES} bytes`)]
}

function finalizerCauses(finalizers: Json | undefined): readonly StatusCause[] {
  if (finalizers === undefined) return []
  const field = 'metadata.finalizers'
  if (!Array.isArray(finalizers))
    return [invalidValue(field, finalizers, 'must be a list of names')]
  const wrong = finalizers.flatMap((one, index) => finalizerCause(one, `${field}[${index}]`))
  const isTorn = finalizers.includes(ORPHAN) && finalizers.includes(FOREGROUND)
  const torn = isTorn ? [invalidValue(field, finalizers, `${ORPHAN} excludes ${FOREGROUND}`)] : []
  return [...wrong, ...torn]
}

const STANDARD_FINALIZERS: readonly unknown[] = [EMPTIED, ORPHAN, FOREGROUND]

function finalizerCause(finalizer: Json, field: string): readonly StatusCause[] {
  if (typeof finalizer !== 'string' || !isQualifiedName(finalizer)) {
    return [invalidValue(field, finalizer, 'must be a qualified name')]
  }
  if (finalizer.includes('/') || STANDARD_FINALIZERS.includes(finalizer)) return []
  const why = 'name is neither a standard finalizer name nor is it fully qualified'
  return [invalidValue(field, finalizer, why)]
}

/** The fields of an owner reference that the garbage collector needs. */
const OWNER_FIELDS = ['apiVersion', 'kind', 'name', 'uid']

function ownerCauses(owner: Json, index: number): readonly StatusCause[] {
  const field = `metadata.ownerReferences[${index}]`
  const missing = OWNER_FIELDS.filter((name) => stringAt(owner, name) === '')
  const [version, kind] = [stringAt(owner, 'apiVersion'), stringAt(owner, 'kind')]
  const isBanned = catalogue.some(
    ({ ownsNothing, kind: known, versions: [stored] }) =>
      ownsNothing === true &&
      known === kind &&
      stored !== undefined &&
      apiVersionOf(stored) === version,
  )
  return [
    ...missing.map((name) => invalidValue(`${field}.${name}`, '', 'must not be empty')),
    ...(isBanned
      ? [invalidValue(field, owner, `/${version}, Kind=${kind} is disallowed from being an owner`)]
      : []),
  ]
}

/** At most one owner may be the controller. */
function controllerCauses(owners: readonly Json[]): readonly StatusCause[] {
  const controllers = owners.filter((owner) => valueAt(owner, 'controller') === true)
  const [first, ...others] = controllers.map(
    (owner) => `${stringAt(owner, 'kind')}/${stringAt(owner, 'name')}`,
  )
  return others.map((other) => {
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${other}`
    return invalidValue('metadata.ownerReferences', owners, why)
  })
}
