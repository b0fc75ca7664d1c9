import { type Json, type JsonObject, ownValue, scalarText } from '../../lib/json.ts'

/**
 * One step of a path in a field set: `f:name` a field or map entry,
 * `k:{"port":80}` the list element with these keys, `v:"x"` the set element.
 */
const ELEMENT = /^(?:\.|f:.*|[kvi]:.+)$/s

export function isElement(text: string): boolean {
  return ELEMENT.test(text)
}

export function fieldElement(name: string): string {
  return `f:${name}`
}

export function valueElement(value: Json): string {
  return `v:${JSON.stringify(value)}`
}

/** The element of a list item with these keys, in alphabetical order. */
export function keyElement(keys: JsonObject): string {
  return `k:${JSON.stringify(keys)}`
}

/** A path as people read it: `.spec.ports[port=80,protocol="TCP"].name`. */
export function pathText(path: readonly string[]): string {
  return path.map(elementText).join('')
}

function elementText(element: string): string {
  const text = element.slice(2)
  if (element.startsWith('f:')) return `.${text}`
  if (element.startsWith('v:')) return `[=${text}]`
  if (element.startsWith('i:')) return `[${text}]`
  const keys = JSON.parse(text) as JsonObject
  const pairs = Object.keys(keys).map((key) => `${key}=${quoted(ownValue(keys, key))}`)
  return `[${pairs.join(',')}]`
}

function quoted(value: Json | undefined): string {
  return typeof value === 'string' ? JSON.stringify(value) : scalarText(value)
}
