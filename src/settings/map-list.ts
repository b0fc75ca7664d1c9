import { nearest } from '../lib/nearest.ts'
import {
  accept,
  type Decoded,
  MAX_ITEMS,
  type Raw,
  type RawMap,
  refuse,
  type ValueType,
} from './value-type.ts'

/** A field of a map; without a fallback it must be written. A fallback of undefined: it may be absent. */
export interface ItemField<T> {
  readonly type: ValueType<T>
  readonly fallback?: T | undefined
}

/** The fields of a map. */
export type ItemFields<T> = { readonly [K in Extract<keyof T, string>]: ItemField<T[K]> }

/**
 * A list of maps with these fields and no others. A refusal names the item, counted from 0, and the field. A flag has a map
 * as JSON.
 */
export function mapList<T extends object>(
  name: string,
  fields: ItemFields<T>,
): ValueType<readonly T[]> {
  const map = mapOf(fields)
  const decode = (raw: Raw): Decoded<readonly T[]> => {
    if (!Array.isArray(raw)) return refuse('write a list of maps')
    const items: T[] = []
    for (const [at, item] of (raw as readonly Raw[]).entries()) {
      const decoded = map.decode(item)
      if (!decoded.ok) return refuse(decoded.remedy, `[${at}]${decoded.part ?? ''}`)
      items.push(decoded.value)
    }
    return accept(items)
  }
  return {
    name,
    schema: { type: 'array', items: map.schema, maxItems: MAX_ITEMS },
    isList: true,
    hasMaps: true,
    decode,
    fromFlag(text) {
      const raw = parseItems(text)
      return raw === undefined
        ? refuse('write a map as JSON, such as {"name":"value"}')
        : decode(raw)
    },
    encode: (items) => items.map(map.encode),
  }
}

/** A map with these fields and no others. A refusal names the field. */
export function mapOf<T extends object>(
  fields: ItemFields<T>,
): Pick<ValueType<T>, 'schema' | 'decode' | 'encode'> {
  const rows = Object.entries<ItemField<unknown>>(fields)
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(rows.map(([field, { type }]) => [field, type.schema])),
      required: rows.filter(([, row]) => !('fallback' in row)).map(([field]) => field),
      additionalProperties: false,
    },
    decode: (raw) => decodeItem(rows, raw) as Decoded<T>,
    encode: (item) =>
      Object.fromEntries(
        rows.map(([field, { type }]) => [field, type.encode(item[field as keyof T])]),
      ),
  }
}

function decodeItem(
  rows: readonly (readonly [string, ItemField<unknown>])[],
  item: Raw,
): Decoded<unknown> {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    return refuse(`write a map with ${rows.map(([field]) => field).join(', ')}`)
  }
  const map = item as RawMap
  const names = rows.map(([field]) => field)
  const unknown = Object.keys(map).find((field) => !names.includes(field))
  if (unknown !== undefined) {
    const meant = nearest(unknown, names)
    const hint = meant === undefined ? `write ${names.join(', ')}` : `did you mean ${meant}?`
    return refuse(`no such field; ${hint}`, `.${unknown}`)
  }
  const decoded: Record<string, unknown> = {}
  for (const [field, row] of rows) {
    const raw = Object.hasOwn(map, field) ? map[field] : undefined
    if (raw === undefined) {
      if (!('fallback' in row)) return refuse(`${field} is missing; write it`)
      if (row.fallback !== undefined) decoded[field] = row.fallback
      continue
    }
    const value = row.type.decode(raw)
    if (!value.ok) return refuse(value.remedy, `.${field}${value.part ?? ''}`)
    decoded[field] = value.value
  }
  return accept(decoded)
}

/** The maps of a flag, which are joined by commas where it was given again and again. */
function parseItems(text: string): Raw | undefined {
  try {
    return JSON.parse(`[${text}]`) as Raw
  } catch {
    return undefined
  }
}
