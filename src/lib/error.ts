/** The properties of an error besides its code and message. */
export interface ErrorDetails {
  /** What the error is about: an object key, a file, a chain. */
  readonly object?: string
  /** What the reader should do next. */
  readonly hint?: string
  readonly cause?: unknown
}

/**
 * The only error class of the project. `code` is stable and starts with `NP_`; docs/errors.md describes each
 * code.
 */
export class NodeProxyError extends Error {
  override readonly name = 'NodeProxyError'
  readonly code: string
  readonly object: string | undefined
  readonly hint: string | undefined

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.object = details.object
    this.hint = details.hint
  }
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The code of an error of the system, such as `ENOENT`, for messages that must not contain what `error.message` quotes. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
