import { isJsonObject, type Json } from '../../lib/json.ts'
import { type Field, fieldsOf } from '../schema/schema.ts'

/** Every object carries these two beside the fields of its message. */
const TYPE_FIELDS = ['apiVersion', 'kind']

/**
 * The paths of fields that a message does not have: `spec.ports[0].prot`.
 * Fields of the wrong shape are validation's affair and are not entered.
 */
export function unknownFields(message: string, object: Json): readonly string[] {
  return unknownWithin(message, object, '', TYPE_FIELDS)
}

function unknownWithin(
  message: string,
  value: Json,
  path: string,
  also: readonly string[],
): readonly string[] {
  const fields = fieldsOf(message)
  if (fields === undefined || !isJsonObject(value)) return []
  return Object.entries(value).flatMap(([name, part]) => {
    const here = path === '' ? name : `${path}.${name}`
    const field = fields.get(name)
    if (field !== undefined) return unknownInField(field, part, here)
    return also.includes(name) ? [] : [here]
  })
}

function unknownInField({ type, shape }: Field, value: Json, path: string): readonly string[] {
  if (shape === 'repeated') {
    const items = Array.isArray(value) ? value : []
    return items.flatMap((item, index) => unknownWithin(type, item, `${path}[${index}]`, []))
  }
  if (shape !== 'map') return unknownWithin(type, value, path, [])
  const entries = Object.entries(isJsonObject(value) ? value : {})
  return entries.flatMap(([key, part]) => unknownWithin(type, part, `${path}.${key}`, []))
}
