import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  ownValue,
  scalarText,
  stringAt,
} from '../lib/json.ts'
import { isLabelValue, isQualifiedName } from '../resources/names.ts'
import type { StatusCause } from './status.ts'

const ANNOTATION_BYTES = 256 * 1024
const LONGEST_SHOWN = 80

/** What is wrong with an object's labels, annotations, finalizers and owners. */
export function metadataCauses(object: JsonObject): readonly StatusCause[] {
  const metadata = objectAt(object, 'metadata')
  return [
    ...mapCauses('metadata.labels', ownValue(metadata, 'labels'), isLabelValue),
    ...mapCauses('metadata.annotations', ownValue(metadata, 'annotations'), () => true),
    ...sizeCauses(objectAt(metadata, 'annotations')),
    ...finalizerCauses(ownValue(metadata, 'finalizers')),
    ...arrayAt(metadata, 'ownerReferences').flatMap(ownerCauses),
  ]
}

function mapCauses(
  field: string,
  map: Json | undefined,
  isValue: (value: string) => boolean,
): readonly StatusCause[] {
  if (map === undefined) return []
  if (!isJsonObject(map)) return [cause(field, map, 'must be a map of strings')]
  return Object.entries(map).flatMap(([key, value]) => {
    if (!isKey(field, key)) {
      return [
        cause(
          field,
          key,
          'must be a qualified name: an optional DNS prefix and a slash, then at most 63 characters of [-_.A-Za-z0-9]',
        ),
      ]
    }
    if (typeof value !== 'string') return [cause(`${field}[${key}]`, value, 'must be a string')]
    if (isValue(value)) return []
    return [
      cause(
        field,
        value,
        'must be at most 63 characters of [-_.A-Za-z0-9], beginning and ending with a letter or digit',
      ),
    ]
  })
}

/** Annotation keys may be upper case in their prefix; label keys may not. */
function isKey(field: string, key: string): boolean {
  return isQualifiedName(field === 'metadata.annotations' ? key.toLowerCase() : key)
}

function sizeCauses(annotations: JsonObject): readonly StatusCause[] {
  let bytes = 0
  for (const [key, value] of Object.entries(annotations))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(scalarText(value))
  if (bytes <= ANNOTATION_BYTES) return []
  const message = `Too long: may not be more than ${ANNOTATION_BYTES} bytes`
  return [{ reason: 'FieldValueTooLong', message, field: 'metadata.annotations' }]
}

function finalizerCauses(finalizers: Json | undefined): readonly StatusCause[] {
  if (finalizers === undefined) return []
  const field = 'metadata.finalizers'
  if (!Array.isArray(finalizers)) return [cause(field, finalizers, 'must be a list of names')]
  const wrong = finalizers.filter((one) => typeof one !== 'string' || !isQualifiedName(one))
  const isTorn = finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')
  const torn = isTorn ? [cause(field, finalizers, 'orphan excludes foregroundDeletion')] : []
  return [...wrong.map((one) => cause(field, one, 'must be a qualified name')), ...torn]
}

/** What the garbage collector needs of an owner. */
const OWNER_FIELDS = ['apiVersion', 'kind', 'name', 'uid']

function ownerCauses(owner: Json, index: number): readonly StatusCause[] {
  const missing = OWNER_FIELDS.filter((name) => stringAt(owner, name) === '')
  return missing.map((name) =>
    cause(`metadata.ownerReferences[${index}].${name}`, '', 'must not be empty'),
  )
}

function cause(field: string, value: Json, message: string): StatusCause {
  const text = JSON.stringify(value)
  const shown = text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN - 1)}…`
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${shown}: ${message}`, field }
}
