import type { SettingsTable } from './table.ts'
import type { Raw, ValueSchema } from './value-type.ts'

/** A JSON Schema of a map with these fields and no others, or of one value. */
export type JsonSchema = ObjectSchema | FieldSchema

interface ObjectSchema {
  readonly type: 'object'
  readonly additionalProperties: false
  readonly properties: Readonly<Record<string, JsonSchema>>
}

interface FieldSchema extends ValueSchema {
  readonly description: string
  readonly default: Raw
}

/**
 * The JSON Schema of a program's file without its `apiVersion` and `kind`, for tools that check values before the
 * program sees them. It refuses unknown fields and, as far as a schema can say, wrong values; the rules between
 * fields are the program's alone.
 */
export function configurationSchema<C>(table: SettingsTable<C>): ObjectSchema {
  return nested(fieldSchemas(table).map(([path, schema]) => [path.split('.'), schema]))
}

/** The same for a map of flags, by their names without dashes: lists are lists, not texts with commas. */
export function flagsSchema<C>(table: SettingsTable<C>): ObjectSchema {
  const schemas = new Map<string, FieldSchema>(fieldSchemas(table))
  return closed(table.entries.map(([path, { flag }]) => [flag, schemas.get(path)!]))
}

function fieldSchemas<C>({
  entries,
}: SettingsTable<C>): readonly (readonly [string, FieldSchema])[] {
  return entries.map(([path, { doc, fallback, type }]) => [
    path,
    { description: doc, default: type.encode(fallback), ...type.schema },
  ])
}

type Located = readonly [path: readonly string[], schema: FieldSchema]

/** A section has the position of its first field. */
function nested(fields: readonly Located[]): ObjectSchema {
  const groups = Map.groupBy(fields, ([[head = '']]) => head)
  return closed(
    [...groups].map(([name, group]) => {
      const [first] = group
      if (first?.[0].length === 1) return [name, first[1]]
      return [name, nested(group.map(([[, ...rest], schema]) => [rest, schema]))]
    }),
  )
}

function closed(properties: readonly (readonly [string, JsonSchema])[]): ObjectSchema {
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) }
}
