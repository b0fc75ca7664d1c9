import type { JsonObject } from '../../lib/json.ts'
import { jsonFormOf } from '../schema/json-form.ts'

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

export function isScalar(type: string): boolean {
  return scalars.has(type)
}

/** The schema of a scalar, or of a message that is no object in JSON; undefined for the others. */
export function scalarSchema(
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
