import type { StatusCause } from '../status.ts'

/** The cause of a 422: a value that a Service may not have. */
export function invalidValue(field: string, value: unknown, message: string): StatusCause {
  const text = `Invalid value: ${JSON.stringify(value)}: ${message}`
  return { reason: 'FieldValueInvalid', message: text, field }
}
