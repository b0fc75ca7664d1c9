import type { JsonObject } from '../../lib/json.ts'
import { isAtomic, type ListType, listTypeOf } from '../apply/list-types.ts'
import { mergeRuleOf } from '../patch/merge-keys.ts'
import { type Field, fieldsOf } from '../schema/schema.ts'
import { enumOf, requiredOf } from './constraints.ts'
import { descriptionOf } from './description.ts'
import { isScalar, scalarSchema } from './scalar-schema.ts'
import { schemaName } from './schema-name.ts'
import type { ServedKinds } from './served-kinds.ts'

/** What the schemas of one document have in common. */
export interface SchemaStyle {
  readonly kinds: ServedKinds
  /** A reference to the schema of that name. */
  readonly refer: (name: string) => JsonObject
  /** Whether a value of several types can be described as such. */
  readonly hasAlternatives: boolean
}

const KIND_FIELDS: readonly Field[] = ['apiVersion', 'kind'].map((name) => ({
  name,
  number: 0,
  type: 'string',
  shape: 'one',
  presence: 'implicit',
}))

/** The schema of a message, which refers to those of its fields. */
export function messageSchema(style: SchemaStyle, message: string): JsonObject {
  const description = described(descriptionOf(message))
  const scalar = scalarSchema(message, style)
  if (scalar !== undefined) return { ...description, ...scalar }
  const kinds = style.kinds.get(message)
  const fields = [
    ...(kinds === undefined ? [] : KIND_FIELDS),
    ...(fieldsOf(message)?.values() ?? []),
  ]
  const required = requiredOf(message)
  return {
    ...description,
    type: 'object',
    ...atomicMap(message),
    ...(required.length > 0 ? { required: [...required] } : {}),
    properties: Object.fromEntries(
      fields.map((field) => [field.name, property(style, message, field)]),
    ),
    ...(kinds === undefined
      ? {}
      : { 'x-kubernetes-group-version-kind': kinds.map((one) => ({ ...one })) }),
  }
}

function property(style: SchemaStyle, message: string, field: Field): JsonObject {
  const { name, type, shape } = field
  const description = described(descriptionOf(message, name))
  const one = typeSchema(style, type)
  if (shape === 'map') {
    const extensions = atomicMap(`${message}.${name}`)
    return { ...description, type: 'object', additionalProperties: one, ...extensions }
  }
  if (shape === 'repeated') {
    const extensions = listExtensions(message, name)
    return { ...description, type: 'array', items: one, ...extensions }
  }
  const values = enumOf(message, name)
  return { ...description, ...one, ...(values === undefined ? {} : { enum: [...values] }) }
}

function typeSchema(style: SchemaStyle, type: string): JsonObject {
  return isScalar(type) ? (scalarSchema(type, style) ?? {}) : style.refer(schemaName(type))
}

/** A map or message that server-side apply takes as one value. */
function atomicMap(name: string): JsonObject {
  return isAtomic(name) ? { 'x-kubernetes-map-type': 'atomic' } : {}
}

/** How lists are merged: by server-side apply, and by strategic patches, which know one key. */
function listExtensions(message: string, field: string): JsonObject {
  const rule = mergeRuleOf(message, field)
  return {
    ...listType(listTypeOf(message, field)),
    ...(rule?.key === undefined ? {} : { 'x-kubernetes-patch-merge-key': rule.key }),
    ...(rule === undefined ? {} : { 'x-kubernetes-patch-strategy': 'merge' }),
  }
}

function listType(type: ListType | undefined): JsonObject {
  const keys = type?.type === 'map' ? type.keys.map(({ name }) => name) : []
  return {
    'x-kubernetes-list-type': type?.type ?? 'atomic',
    ...(keys.length > 0 ? { 'x-kubernetes-list-map-keys': keys } : {}),
  }
}

function described(text: string | undefined): JsonObject {
  return text === undefined ? {} : { description: text }
}
