import { RequestError } from '../data/request-error.ts'
import type { NodeFailure } from '../nodes/node-reading.ts'

/** What went wrong, of anything that was thrown. */
export function failureOf(error: unknown): NodeFailure {
  if (error instanceof RequestError) {
    const { message, code, status } = error
    return { message, code, status }
  }
  return { message: error instanceof Error ? error.message : String(error), code: '', status: 0 }
}
