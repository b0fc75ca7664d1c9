import type { Raw, RawMap, ValueSchema } from '../value-type.ts'

/** Whether a value passes the keywords of its schema, by the rules of JSON Schema. */
export function matchesSchema(schema: ValueSchema, value: Raw): boolean {
  const types = schema.type === undefined ? undefined : [schema.type].flat()
  if (types !== undefined && !types.some((type) => hasType(type, value))) return false
  if (schema.enum !== undefined && !schema.enum.some((one) => one === value)) return false
  if (typeof value === 'number') return isInRange(schema, value)
  if (typeof value === 'string') {
    return schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value)
  }
  if (isMap(value)) return hasFields(schema, value)
  if (!isList(value)) return true
  const { items, maxItems = Number.POSITIVE_INFINITY } = schema
  return value.length <= maxItems && value.every((item) => matchesSchema(items ?? {}, item))
}

function hasType(type: string, value: Raw): boolean {
  if (type === 'integer') return Number.isInteger(value)
  return type === (isList(value) ? 'array' : value === null ? 'null' : typeof value)
}

function hasFields(
  { properties = {}, required = [], additionalProperties }: ValueSchema,
  value: RawMap,
): boolean {
  if (required.some((name) => !Object.hasOwn(value, name))) return false
  return Object.entries(value).every(([name, one]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    return property ? matchesSchema(property, one) : additionalProperties !== false
  })
}

function isMap(value: Raw): value is RawMap {
  return typeof value === 'object' && value !== null && !isList(value)
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
