import type { JsonObject } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { Problem } from '../../resources/problem.ts'

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
interface Status {
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

/** The Status of a success, for an answer without an object: of a deletion, a binding or an eviction. */
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

/** Names the object of an error: `services "web"`, `endpointslices.discovery.k8s.io "x"`. */
export interface Subject {
  readonly plural: string
  readonly group: string
  readonly name: string
}

function named(subject: Subject): string {
  const { plural, group, name } = subject
  return `${group === '' ? plural : `${plural}.${group}`} ${JSON.stringify(name)}`
}

function detailsOf(subject: Subject): StatusDetails {
  const { plural, group, name } = subject
  return { name, ...(group === '' ? {} : { group }), kind: plural }
}

/** 400: the request is malformed. */
export function badRequest(message: string): StatusError {
  return new StatusError({ code: 400, reason: 'BadRequest', message })
}

/** 403: the request is not allowed, such as a write in a terminating namespace. */
export function forbidden(
  subject: Subject,
  why: string,
  causes?: readonly StatusCause[],
): StatusError {
  const details = { ...detailsOf(subject), ...(causes === undefined ? {} : { causes }) }
  const message = `${named(subject)} is forbidden: ${why}`
  return new StatusError({ code: 403, reason: 'Forbidden', message, details })
}

/** 404: the object does not exist. */
export function notFound(subject: Subject): StatusError {
  const message = `${named(subject)} not found`
  return new StatusError({ code: 404, reason: 'NotFound', message, details: detailsOf(subject) })
}

/** 404: no route has this path. */
export function noSuchPath(): StatusError {
  const message = 'the server could not find the requested resource'
  return new StatusError({ code: 404, reason: 'NotFound', message, details: {} })
}

/** 405: the route does not have this method. */
export function methodNotAllowed(): StatusError {
  const message = 'the server does not allow this method on the requested resource'
  return new StatusError({ code: 405, reason: 'MethodNotAllowed', message, details: {} })
}

/** 406: the server supports no media type of `Accept`. */
export function notAcceptable(offered: readonly string[]): StatusError {
  const message = `only the following media types are accepted: ${offered.join(', ')}`
  return new StatusError({ code: 406, reason: 'NotAcceptable', message, details: {} })
}

/** 409 for a create: an object has this name. */
export function alreadyExists(subject: Subject): StatusError {
  const message = `${named(subject)} already exists`
  return new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message,
    details: detailsOf(subject),
  })
}

const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again'

/** 409 for a write: by default, the object changed since the version that the client names. */
export function conflict(subject: Subject, why: string = MODIFIED): StatusError {
  const message = `Operation cannot be fulfilled on ${named(subject)}: ${why}`
  return new StatusError({ code: 409, reason: 'Conflict', message, details: detailsOf(subject) })
}

/** 410: a watch from before the window of the cache, or a list from a revision that was compacted. */
export function expired(requested: number, oldest: number): StatusError {
  const message = `too old resource version: ${requested} (${oldest})`
  return new StatusError({ code: 410, reason: 'Expired', message })
}

/** 410: the revision of a continue token was compacted; `continueToken` continues at the newest revision. */
export function continueExpired(continueToken: string): StatusError {
  const message =
    'the continue token is too old for a consistent list: list again without it, ' +
    'or use metadata.continue of this Status to read the rest as it is now'
  return new StatusError({ code: 410, reason: 'Expired', message, continueToken })
}

/** 413: the body or the object is too large. */
export function tooLarge(message: string): StatusError {
  return new StatusError({ code: 413, reason: 'RequestEntityTooLarge', message, details: {} })
}

/** 415: the media type of the body. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return new StatusError({ code: 415, reason: 'UnsupportedMediaType', message, details: {} })
}

/** How many causes a Status lists, so that it is not larger than the rejected request. */
const MAX_CAUSES = 50

/** 422 with one cause for each of the first 50 problems; `kind` is that of the object, such as `Service`. */
export function invalid(kind: string, subject: Subject, all: readonly StatusCause[]): StatusError {
  const causes = all.slice(0, MAX_CAUSES)
  const texts = causes.map((cause) =>
    cause.field ? `${cause.field}: ${cause.message}` : cause.message,
  )
  const what = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
  const { name, group } = subject
  const qualified = group === '' ? kind : `${kind}.${group}`
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: `${qualified} ${JSON.stringify(name)} is invalid: ${what}`,
    details: { name, ...(group === '' ? {} : { group }), kind, causes },
  })
}

/** 422: a combination of list options that the API forbids. */
export function invalidOptions(field: string, message: string): StatusError {
  const cause = forbiddenValue(field, message)
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: `ListOptions.meta.k8s.io "" is invalid: ${field}: ${cause.message}`,
    details: { group: 'meta.k8s.io', kind: 'ListOptions', causes: [cause] },
  })
}

/** 429 with Retry-After, seconds. */
export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  const details = { retryAfterSeconds }
  return new StatusError({ code: 429, reason: 'TooManyRequests', message, details })
}

/** 503 with Retry-After of one second, for a temporary state. */
export function serviceUnavailable(message: string): StatusError {
  const details = { retryAfterSeconds: 1 }
  return new StatusError({ code: 503, reason: 'ServiceUnavailable', message, details })
}

/** 504: the caches did not reach the requested revision in time. */
export function revisionTooLarge(requested: number, newest: number): StatusError {
  const text = `Too large resource version: ${requested}, current: ${newest}`
  return new StatusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: ${text}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
}

/** 500: a bug, or a value that cannot be read. */
export function internalError(why = 'the server failed to serve the request'): StatusError {
  const message = `Internal error occurred: ${why}`
  return new StatusError({ code: 500, reason: 'InternalError', message, details: {} })
}

/**
 * The cause for an invalid value. This function and those below have the reasons and messages of Kubernetes
 * (`field.Error`): clients compare `reason`, people read `message`.
 */
export function invalidValue(field: string, value: unknown, why: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: invalidText(value, why), field }
}

/** The message of `invalidValue`, for a Status without causes. */
export function invalidText(value: unknown, why: string): string {
  return `Invalid value: ${quote(value)}: ${why}`
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
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${value}: ${message}`, field }
}

function unsupported(field: string, shown: string, supported: readonly string[]): StatusCause {
  const list = supported.map((one) => JSON.stringify(one)).join(', ')
  const message = `Unsupported value: ${shown}: supported values: ${list}`
  return { reason: 'FieldValueNotSupported', message, field }
}
