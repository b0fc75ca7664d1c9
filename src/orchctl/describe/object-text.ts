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
  const words = key.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
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
  const flat = entries.filter(([, value]) => isFlat(value)).map(([key]) => key.length)
  const width = Math.max(0, ...flat) + 3
  return entries.map(([key, value]) => entryText(key, value, { indent, width })).join('')
}

interface Layout {
  readonly indent: string
  readonly width: number
}

function entryText(key: string, value: Json, { indent, width }: Layout): string {
  if (isFlat(value))
    return `${indent}${`${key}:`.padEnd(width)}${flatText(value, width + indent.length)}\n`
  const inner = `${indent}  `
  const below = Array.isArray(value)
    ? value.map((item) => itemText(item, inner)).join('')
    : block(Object.entries(value as JsonObject).map(titled), inner)
  return `${indent}${key}:\n${below}`
}

function titled([key, value]: [string, Json]): readonly [string, Json] {
  // Keys of maps, such as labels, are shown as they are.
  return [/^[a-z][A-Za-z0-9]*$/.test(key) ? title(key) : key, value]
}

function itemText(item: Json, indent: string): string {
  if (isFlat(item)) return `${indent}- ${flatText(item, indent.length + 2)}\n`
  const entries = isJsonObject(item) ? Object.entries(item).map(titled) : [['', item] as const]
  const text = block(entries, `${indent}  `)
  return `${indent}- ${text.slice(indent.length + 2)}`
}

/** Scalars, empty values, and maps of scalars such as labels. */
function isFlat(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.keys(value).length === 0 || (isJsonObject(value) && isLabels(value))
}

function isLabels(value: JsonObject): boolean {
  const entries = Object.entries(value)
  return entries.every(([key, inner]) => typeof inner === 'string' && /[./-]|^app$/.test(key))
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
  return text === ''
    ? '<none>'
    : text.replace(/\n$/, '').replaceAll('\n', `\n${' '.repeat(indent)}`)
}
