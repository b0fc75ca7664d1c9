import { NodeProxyError } from '../lib/error.ts'

const DEEPEST = 5

/** An error as log fields: message and chain of causes; the stack only of bugs. */
export function errorFields(error: unknown, depth = 0): Record<string, unknown> | string {
  if (!(error instanceof Error)) return String(error)
  const known = error instanceof NodeProxyError
  const cause =
    error.cause === undefined || depth >= DEEPEST
      ? {}
      : { cause: errorFields(error.cause, depth + 1) }
  if (known) {
    const { code, message, object, hint } = error
    return { code, message, ...(object && { object }), ...(hint && { hint }), ...cause }
  }
  const code = (error as { code?: unknown }).code
  const expected = typeof code === 'string'
  return {
    ...(expected ? { code } : { type: error.name }),
    message: error.message,
    ...(expected ? {} : { stack: error.stack }),
    ...cause,
  }
}
