import type { Raw, ValueSchema } from '../value-type.ts'

/** Whether a value passes the keywords of its schema, by the rules of JSON Schema. */
export function matchesSchema(schema: ValueSchema, value: Raw): boolean {
  const types = schema.type === undefined ? undefined : [schema.type].flat()
  if (types !== undefined && !types.some((type) => hasType(type, value))) return false
  if (schema.enum !== undefined && !schema.enum.some((one) => one === value)) return false
  if (schema.anyOf?.every((one) => !matchesSchema(one, value)) === true) return false
  if (typeof value === 'number') return isInRange(schema, value)
  if (typeof value === 'string') {
    return schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value)
  }
  if (value === null || typeof value === 'boolean') return true
  if (!isList(value)) return hasFields(schema, value)
  const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  const isLong = value.length >= minItems && value.length <= maxItems
  return isLong && value.every((item) => matchesSchema(items ?? {}, item))
}

function hasFields(
  { properties, required = [], additionalProperties }: ValueSchema,
  map: Readonly<Record<string, Raw>>,
): boolean {
  const isKnown = (name: string): boolean =>
    additionalProperties !== false || Object.hasOwn(properties ?? {}, name)
  return (
    required.every((name) => Object.hasOwn(map, name)) &&
    Object.entries(map).every(
      ([name, value]) => isKnown(name) && matchesSchema(properties?.[name] ?? {}, value),
    )
  )
}

function hasType(type: string, value: Raw): boolean {
  if (type === 'integer') return Number.isInteger(value)
  return type === (isList(value) ? 'array' : value === null ? 'null' : typeof value)
}

function isList(value: Raw): value is readonly Raw[] {
  return Array.isArray(value)
}

function isInRange(schema: ValueSchema, value: number): boolean {
  const { minimum = value, maximum = value, exclusiveMinimum } = schema
  return (
    value >= minimum &&
    value <= maximum &&
    (exclusiveMinimum === undefined || value > exclusiveMinimum)
  )
}
