import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  without,
} from '../../lib/json.ts'
import { byLabel, type Cell, type Row } from './rows.ts'

const HEADER = ['name', 'namespace', 'labels', 'annotations', 'managedFields']

/** Every field of an object of which nothing more is known, in the order of their names. */
export function rowsOfFields(object: JsonObject): readonly Row[] {
  const metadata = without(objectAt(object, 'metadata'), ...HEADER)
  return fieldRows({ ...object, metadata })
}

function fieldRows(fields: JsonObject): readonly Row[] {
  return Object.entries(fields)
    .map(([key, value]): Row => [title(key), cellOf(value)])
    .toSorted(byLabel)
}

function cellOf(value: Json): Cell {
  if (value === null) return '<none>'
  if (isJsonObject(value)) return { rows: fieldRows(value) }
  if (!Array.isArray(value)) return scalarText(value)
  if (!value.some(isJsonObject)) return value.map(scalarText)
  return {
    items: value.map((item) => (isJsonObject(item) ? fieldRows(item) : [['', cellOf(item)]])),
  }
}

/** `holderIdentity` as `Holder Identity`, `externalIPs` as `External IPs`. */
function title(key: string): string {
  if (key.includes('.') || key.includes('/')) return key
  const words = key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/^(?:uid|api|ip|dns)\b/, (word) => word.toUpperCase())
  return `${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`
}
