import type { JsonObject } from '../../lib/json.ts'
import { isAtomic, type ListType, listTypeOf } from '../apply/list-types.ts'
import { mergeRuleOf } from '../patch/merge-keys.ts'
import { type Field, fieldsOf, jsonFormOf } from '../schema/schema.ts'
import { enumOf, requiredOf } from './constraints.ts'
import descriptions from './descriptions.json' with { type: 'json' }
import type { ServedKinds } from './served-kinds.ts'

const scalars: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ['string', { type: 'string' }],
  ['bool', { type: 'boolean' }],
  ['int32', { type: 'integer', format: 'int32' }],
  ['int64', { type: 'integer', format: 'int64' }],
  ['bytes', { type: 'string', format: 'byte' }],
])

const forms = {
  time: { type: 'string', format: 'date-time' },
  'micro-time': { type: 'string', format: 'date-time' },
  'int-or-string': { type: 'string', format: 'int-or-string' },
  quantity: { type: 'string' },
  any: { type: 'object' },
  strings: { type: 'array', items: { type: 'string' } },
} as const

/** Messages that are a number or a string in JSON. */
const alternatives: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ['int-or-string', { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] }],
  ['quantity', { oneOf: [{ type: 'string' }, { type: 'number' }] }],
])

/** The prefixes of packages in Kubernetes' documents; clients depend on these names. */
const prefixes: ReadonlyMap<string, string> = new Map([
  ['meta', 'io.k8s.apimachinery.pkg.apis.meta'],
  ['resource', 'io.k8s.apimachinery.pkg.api.resource'],
  ['intstr', 'io.k8s.apimachinery.pkg.util.intstr'],
  ['runtime', 'io.k8s.apimachinery.pkg.runtime'],
])

/** Descriptions by message, then by field; that of the message itself is under the empty name. */
const table: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  Object.entries(descriptions as Descriptions).map(([message, fields]) => [
    message,
    new Map(Object.entries(fields)),
  ]),
)

/** The descriptions of fields that every object has. */
const everywhere: ReadonlyMap<string, string> = new Map([
  ['apiVersion', 'The group and version in which this object is written.'],
  ['kind', 'What sort of object this is.'],
  ['metadata', 'Name, labels and what else every object has.'],
])

/** What the schemas of one document have in common. */
export interface SchemaStyle {
  readonly kinds: ServedKinds
  /** A reference to the schema of that name. */
  readonly refer: (name: string) => JsonObject
  /** Whether a value can be described as having one of several types. */
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

/** A map or message that server-side apply treats as one value. */
function atomicMap(name: string): JsonObject {
  return isAtomic(name) ? { 'x-kubernetes-map-type': 'atomic' } : {}
}

/**
 * The extensions that say how lists are merged: by server-side apply, and by strategic merge patches, which use
 * a single key.
 */
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

type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>

/** One sentence about a message, or about one of its fields. */
function descriptionOf(message: string, field = ''): string | undefined {
  return table.get(message)?.get(field) ?? everywhere.get(field)
}

/** The name under which documents define a message: `io.k8s.api.core.v1.Service`. */
export function schemaName(message: string): string {
  const dot = message.indexOf('.')
  const packageName = message.slice(0, dot)
  return `${prefixes.get(packageName) ?? `io.k8s.api.${packageName}`}${message.slice(dot)}`
}

export function isScalar(type: string): boolean {
  return scalars.has(type)
}

/** The schema of a scalar, or of a message that is not an object in JSON; undefined for the others. */
function scalarSchema(
  type: string,
  { hasAlternatives }: { readonly hasAlternatives: boolean },
): JsonObject | undefined {
  const scalar = scalars.get(type)
  if (scalar !== undefined) return { ...scalar }
  const form = jsonFormOf(type)
  if (form === undefined) return undefined
  const several = hasAlternatives ? alternatives.get(form) : undefined
  return structuredClone(several ?? forms[form]) as JsonObject
}
