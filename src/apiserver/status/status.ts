import type { JsonObject } from '../../lib/json.ts'

/** One reason inside a Status: which field, and what is wrong with it. */
export interface StatusCause {
  readonly reason?: string
  readonly message: string
  readonly field?: string
}

export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

/** Kubernetes' document for errors and successes. */
export interface Status {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: StatusDetails
  /** `metadata.continue` of an expired list. */
  readonly continueToken?: string
}

/** The answer to a request that the server rejects: a value, not an exception. */
export class StatusError {
  readonly status: Status

  constructor(status: Status) {
    this.status = status
  }
}

/** The Status as its wire document. */
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

/** The document of a deletion that returns no object. */
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
