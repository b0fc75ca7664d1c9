/** A JSON object from the wire, not yet validated. */
export type Raw = Readonly<Record<string, unknown>>

/** Whether a value is an object and no array or null. */
export function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An own property, never one of Object.prototype; null is absent. */
export function own(object: Raw, key: string): unknown {
  return Object.hasOwn(object, key) ? (object[key] ?? undefined) : undefined
}
