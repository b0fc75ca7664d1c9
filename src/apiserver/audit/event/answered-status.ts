import type { StatusDetails } from '../../status/status.ts'

/** An answer's code alone, or what its Status says. */
export interface AnsweredStatus {
  readonly code: number
  readonly reason?: string
  readonly message?: string | undefined
  readonly details?: StatusDetails
}

export const PANIC: AnsweredStatus = {
  code: 500,
  reason: 'InternalError',
  message: 'the server failed because of a bug; its log says more',
}

/** Messages of these answers may repeat a part of the body. */
const QUOTING_CODES = new Set([400, 409, 422])
const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

/** Without a message that may repeat a part of a body, which is not shown itself. */
export function withoutQuotes(status: AnsweredStatus, verb: string): AnsweredStatus {
  const isQuoting = QUOTING_CODES.has(status.code) && WRITES.has(verb)
  return isQuoting ? { ...status, message: undefined } : status
}
