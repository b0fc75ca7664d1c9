/** A JSON object (or any plain object) whose fields are unknown. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object, and not an array. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
