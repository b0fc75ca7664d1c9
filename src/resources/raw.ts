/** A JSON object from the wire, of which nothing is known yet. */
export type Raw = Readonly<Record<string, unknown>>

const NOTHING: Raw = Object.freeze({})
const NONE: readonly unknown[] = Object.freeze([])

export function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An own property, never one of Object.prototype. */
export function own(object: Raw, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** An own property that is an object; empty when it is absent or something else. */
export function child(object: Raw, key: string): Raw {
  const value = own(object, key)
  return isRaw(value) ? value : NOTHING
}

/** An own property that is a list; empty when it is absent or something else. */
export function list(object: Raw, key: string): readonly unknown[] {
  const value = own(object, key)
  return Array.isArray(value) ? value : NONE
}

/** An own property that is a string; undefined when it is absent or something else. */
export function text(object: Raw, key: string): string | undefined {
  const value = own(object, key)
  return typeof value === 'string' ? value : undefined
}
