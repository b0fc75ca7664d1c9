import { quote } from '../../lib/quote.ts'
import type { Problem } from '../../resources/problem.ts'
import type { StatusCause } from './status.ts'

/**
 * The cause for an invalid value. The functions of this file have the reasons and messages of Kubernetes
 * (`field.Error`): clients compare `reason`, people read `message`.
 */
export function invalidValue(field: string, value: unknown, why: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: invalidText(value, why), field }
}

/** The message of `invalidValue`, for a Status without causes. */
export function invalidText(value: unknown, why: string): string {
  return invalid(quote(value), why)
}

/** The cause for a missing value. */
export function requiredValue(field: string, why: string): StatusCause {
  return { reason: 'FieldValueRequired', message: `Required value: ${why}`, field }
}

/** The cause for a value that must be absent or unchanged. */
export function forbiddenValue(field: string, why: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field }
}

/** The cause for a value that is too long. */
export function tooLongValue(field: string, why: string): StatusCause {
  return { reason: 'FieldValueTooLong', message: `Too long: ${why}`, field }
}

/** The cause for a value that is not one of `supported`. */
export function unsupportedValue(
  field: string,
  value: unknown,
  supported: readonly string[],
): StatusCause {
  return unsupported(field, quote(value), supported)
}

/** The value of a problem of an absent field. */
const ABSENT = quote(undefined)

/** The cause for a problem of validation, whose value is quoted already. */
export function causeOf({ field, value, message, fault }: Problem): StatusCause {
  if (fault !== undefined && 'forbidden' in fault) return forbiddenValue(field, fault.forbidden)
  if (value === ABSENT) return requiredValue(field, message)
  if (fault !== undefined && 'supported' in fault) return unsupported(field, value, fault.supported)
  if (fault !== undefined && 'isDuplicate' in fault) {
    return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${value}`, field }
  }
  return { reason: 'FieldValueInvalid', message: invalid(value, message), field }
}

function invalid(shown: string, why: string): string {
  return `Invalid value: ${shown}: ${why}`
}

function unsupported(field: string, shown: string, supported: readonly string[]): StatusCause {
  const list = supported.map((one) => JSON.stringify(one)).join(', ')
  const message = `Unsupported value: ${shown}: supported values: ${list}`
  return { reason: 'FieldValueNotSupported', message, field }
}
