import type { Fields, LocatedValue } from '../lib/yaml.ts'

/** The longest list in a file. */
export const MAX_ITEMS = 1_000

/** A value of one field in YAML and JSON. Maps are values only of types with `hasMaps`. */
export type Raw = string | number | boolean | null | readonly Raw[] | RawMap

/** A map, or a map of a list. */
export interface RawMap {
  readonly [name: string]: Raw
}

/** A decoded value, or how to correct it. */
export type Decoded<T> =
  | {
      readonly ok: true
      readonly value: T
      /** A warning about an accepted value, as a sentence. */
      readonly warning?: string
    }
  /** What to write instead, as the end of a sentence: `write a duration such as 30s`. */
  | {
      readonly ok: false
      readonly remedy: string
      /** The wrong part of a value with parts, such as `[1].name`; absent: all of it. */
      readonly part?: string
    }

/** The keywords of JSON Schema that describe single values. */
export interface ValueSchema {
  readonly type?:
    | 'boolean'
    | 'integer'
    | 'number'
    | 'string'
    | 'array'
    | 'object'
    | readonly ['string', 'integer']
  readonly enum?: readonly (string | boolean)[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  /** Without groups that look ahead or behind, which validators written in Go do not have. */
  readonly pattern?: string
  readonly items?: ValueSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly anyOf?: readonly ValueSchema[]
  readonly properties?: Readonly<Record<string, ValueSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: false
}

/** How one type of value is read from a file or a flag, written back, and named in documents. */
export interface ValueType<T> {
  /** For documents and help. */
  readonly name: string
  /** For other programs that check a file: it refuses no value of a file that `decode` accepts. */
  readonly schema: ValueSchema
  /** A flag of this type may be given several times; the values add up. */
  readonly isList?: true
  /** A value of a file may contain maps. */
  readonly hasMaps?: true
  /** Decodes a value of a file. */
  decode(raw: Raw): Decoded<T>
  /** Decodes the text of a flag. */
  fromFlag(text: string): Decoded<T>
  /** Text or JSON that `decode` reads back as the same value. */
  encode(value: T): Raw
}

/** The result for a valid value; `warning`: a sentence about what to write instead. */
export function accept<T>(value: T, warning?: string): Decoded<T> {
  return warning === undefined ? { ok: true, value } : { ok: true, value, warning }
}

/** The result for an invalid value; `remedy` is what to write instead, `part` which part of the value is wrong. */
export function refuse(remedy: string, part?: string): Decoded<never> {
  return part === undefined ? { ok: false, remedy } : { ok: false, remedy, part }
}

/** The value of one field of a file, which contains maps only if the type of the field `hasMaps`. */
export function rawOf(value: LocatedValue, hasMaps?: true): Decoded<Raw> {
  if ('scalar' in value) return accept(value.scalar)
  if ('unreadable' in value) return refuse(value.unreadable)
  if ('fields' in value) return hasMaps ? mapOf(value.fields) : refuse('write one value, not a map')
  if (value.items.length > MAX_ITEMS) return refuse(`write at most ${MAX_ITEMS} items`)
  const items: Raw[] = []
  for (const item of value.items) {
    if (!('scalar' in item.value) && !hasMaps) return refuse('write a list of plain values')
    const raw = rawOf(item.value, hasMaps)
    if (!raw.ok) return raw
    items.push(raw.value)
  }
  return accept(items)
}

function mapOf(fields: Fields): Decoded<Raw> {
  const entries: [string, Raw][] = []
  for (const [name, found] of fields) {
    const raw = rawOf(found.value, true)
    if (!raw.ok) return raw
    entries.push([name, raw.value])
  }
  return accept(Object.fromEntries(entries))
}
