import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  without,
} from '../../lib/json.ts'

const HIDDEN = ['apiVersion', 'kind', 'metadata']
const METADATA = [
  ...['creationTimestamp', 'deletionTimestamp', 'uid', 'resourceVersion', 'generation'],
  ...['finalizers', 'ownerReferences'],
]

/** An object for people: its metadata first, then every field; of Secrets only the sizes of the values. */
export function objectText(object: JsonObject): string {
  const metadata = objectAt(object, 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  const shown: (readonly [string, Json])[] = [
    ['Name', stringAt(metadata, 'name')],
    ...(namespace === '' ? [] : [['Namespace', namespace] as const]),
    ['Labels', metadata['labels'] ?? {}],
    ['Annotations', metadata['annotations'] ?? {}],
    ...METADATA.flatMap((key) => {
      const value = metadata[key]
      return value === undefined ? [] : [[title(key), value] as const]
    }),
    ...['apiVersion', 'kind'].map((key) => [title(key), stringAt(object, key)] as const),
    ...Object.entries(without(redacted(object), ...HIDDEN)).map(([key, value]) => {
      return [title(key), value] as const
    }),
  ]
  return block(shown, '')
}

/** `clusterIP` as `Cluster IP`, `externalIPs` as `External IPs`. */
export function title(key: string): string {
  const words = key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/^(?:uid|api|ip|dns)\b/, (word) => word.toUpperCase())
  return `${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`
}

function redacted(object: JsonObject): JsonObject {
  if (stringAt(object, 'kind') !== 'Secret') return object
  const sizes = Object.entries(objectAt(object, 'data')).map(([key, value]) => {
    const bytes = typeof value === 'string' ? Buffer.from(value, 'base64').length : 0
    return [key, `${bytes} bytes`] as const
  })
  const copy = without(object, 'data', 'stringData')
  return { ...copy, data: Object.fromEntries(sizes) }
}

function block(entries: readonly (readonly [string, Json])[], indent: string): string {
  const flat = entries.filter(([key, value]) => isFlat(key, value)).map(([key]) => key.length)
  const width = Math.max(0, ...flat) + 3
  return entries.map(([key, value]) => entryText(key, value, { indent, width })).join('')
}

interface Layout {
  readonly indent: string
  readonly width: number
}

function entryText(key: string, value: Json, { indent, width }: Layout): string {
  if (isFlat(key, value)) {
    return `${indent}${`${key}:`.padEnd(width)}${flatText(value, width + indent.length)}\n`
  }
  const inner = `${indent}  `
  const below = Array.isArray(value)
    ? value.map((item) => itemText(item, inner)).join('')
    : block(fieldsOf(value, RAW_KEYS.has(key)), inner)
  return `${indent}${key}:\n${below}`
}

function fieldsOf(value: Json, isRaw: boolean): readonly (readonly [string, Json])[] {
  const entries = isJsonObject(value) ? Object.entries(value) : []
  return isRaw ? entries : entries.map(([key, inner]) => [title(key), inner])
}

function itemText(item: Json, indent: string): string {
  if (!isJsonObject(item)) return `${indent}- ${flatText(item, indent.length + 2)}\n`
  return `${indent}- ${block(fieldsOf(item, false), `${indent}  `).slice(indent.length + 2)}`
}

/** Maps whose keys are names of users, not of fields, in the form of a title. */
const RAW_KEYS: ReadonlySet<string> = new Set([
  'Data',
  'Binary Data',
  'Limits',
  'Requests',
  'Capacity',
  'Allocatable',
])
const PAIRS: ReadonlySet<string> = new Set([
  'Labels',
  'Annotations',
  'Selector',
  'Match Labels',
  'Node Selector',
])

/** Scalars, empty values, and maps such as labels. */
function isFlat(key: string, value: Json): boolean {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return true
  const isOfTexts = Object.values(value).every((inner) => typeof inner === 'string')
  return PAIRS.has(key) && isJsonObject(value) && isOfTexts
}

function flatText(value: Json, indent: number): string {
  if (value === null) return '<none>'
  if (typeof value === 'string') return stringText(value, indent)
  if (typeof value !== 'object') return String(value)
  const lines = Object.entries(value).map(
    ([key, inner]) => `${key}=${stringText(scalarText(inner), indent)}`,
  )
  return lines.length === 0 ? '<none>' : lines.sort().join(`\n${' '.repeat(indent)}`)
}

/** Further lines of a text stand below its first one. */
function stringText(text: string, indent: number): string {
  const lines = text.replace(/\n$/, '').replaceAll('\n', `\n${' '.repeat(indent)}`)
  return text === '' ? '<none>' : lines
}
