import type { JsonObject } from '../../lib/json.ts'

/** One cause of a Status: a field, and what is wrong with it. */
export interface StatusCause {
  readonly reason?: string
  readonly message: string
  readonly field?: string
}

/** The object of a Status, its causes, and when to retry (seconds). */
export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

/** The error of a request (meta/v1 Status). */
export interface Status {
  /** The HTTP status. */
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: StatusDetails
  /** `metadata.continue` of an expired list. */
  readonly continueToken?: string
}

/** The response to a rejected request: a value, not an exception. */
export class StatusError {
  readonly status: Status

  constructor(status: Status) {
    this.status = status
  }
}

/** The JSON document of an error. */
export function statusDocument(status: Status): JsonObject {
  const { continueToken, details } = status
  const document = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: continueToken === undefined ? {} : { continue: continueToken },
    status: 'Failure',
    message: status.message,
    reason: status.reason,
    ...(details === undefined ? {} : { details: detailsDocument(details) }),
    code: status.code,
  }
  return document
}

/** The JSON document of a deletion that returns no object. */
export function successDocument(details: StatusDetails): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: detailsDocument(details),
  }
}

function detailsDocument(details: StatusDetails): JsonObject {
  const { causes, ...rest } = details
  const document: JsonObject = { ...rest }
  if (causes !== undefined) document['causes'] = causes.map((cause) => ({ ...cause }))
  return document
}
