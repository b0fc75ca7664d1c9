import type { Fields, Located, LocatedValue } from '../lib/yaml.ts'

/** The longest list in a file. */
export const MAX_ITEMS = 1_000

/** A value of one field in YAML and JSON; maps are values only in a list. */
export type Raw = string | number | boolean | null | readonly Raw[] | RawMap

/** A map of a list. */
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
  | { readonly ok: false; readonly remedy: string }

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
  readonly maxItems?: number
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

/** The result for an invalid value; `remedy` is what to write instead. */
export function refuse(remedy: string): Decoded<never> {
  return { ok: false, remedy }
}

/** The value of one field of a file. */
export function rawOf(value: LocatedValue): Decoded<Raw> {
  if ('scalar' in value) return accept(value.scalar)
  if ('unreadable' in value) return refuse(value.unreadable)
  if ('fields' in value) return refuse('write one value, not a map')
  return rawItems(value.items)
}

function rawItems(located: readonly Located[]): Decoded<readonly Raw[]> {
  if (located.length > MAX_ITEMS) return refuse(`write at most ${MAX_ITEMS} items`)
  const items: Raw[] = []
  for (const { value } of located) {
    const item = 'fields' in value ? rawMap(value.fields) : rawScalar(value)
    if (!item.ok) return item
    items.push(item.value)
  }
  return accept(items)
}

/** A map whose values are plain, or lists. */
function rawMap(fields: Fields): Decoded<RawMap> {
  const map: Record<string, Raw> = {}
  for (const [name, { value }] of fields) {
    const read = 'items' in value ? rawItems(value.items) : rawScalar(value)
    if (!read.ok) return refuse(`${name}: ${read.remedy}`)
    map[name] = read.value
  }
  return accept(map)
}

function rawScalar(value: LocatedValue): Decoded<string | number | boolean | null> {
  if ('unreadable' in value) return refuse(value.unreadable)
  return 'scalar' in value ? accept(value.scalar) : refuse('write a list of plain values')
}
