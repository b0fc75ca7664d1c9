import { isJsonObject, type Json, type JsonObject, setOwn } from '../../lib/json.ts'
import { evaluate } from './evaluate.ts'
import type { Template } from './template.ts'

/** The text of a template for a document. The values of one path are separated by spaces. */
export function expand(template: Template, document: Json): string {
  return expandParts(template, document, document)
}

function expandParts(template: Template, current: Json, root: Json): string {
  return template
    .map((part) => {
      if (part.type === 'text') return part.text
      const values = evaluate(part.path, current, root)
      return part.type === 'path'
        ? values.map(valueText).join(' ')
        : values.map((value) => expandParts(part.body, value, root)).join('')
    })
    .join('')
}

/** A string unchanged; any other value as JSON. */
export function valueText(value: Json): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' ? JSON.stringify(sortedValue(value)) : String(value)
}

/** A copy whose objects have their keys in order, as kubectl prints them. */
export function sortedValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortedValue)
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [key, inner] of entries) setOwn(copy, key, sortedValue(inner))
  return copy
}
