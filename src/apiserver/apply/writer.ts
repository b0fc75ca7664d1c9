import type { Clock } from '../../lib/clock.ts'
import { timestamp } from '../../lib/duration.ts'
import { type JsonObject, objectAt, without } from '../../lib/json.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { messageOf } from '../schema/schema.ts'
import {
  forbiddenValue,
  invalidValue,
  requiredValue,
  type StatusCause,
  StatusError,
  tooLongValue,
} from '../status/status.ts'
import type { Writer } from './owner.ts'
import { type Structure, structureOf, unknownStructure } from './structure.ts'

/** The part of the server that naming a writer uses: the clock. */
export interface WriterContext {
  readonly clock: Clock
}

export const APPLY_PATCH = 'application/apply-patch+yaml'

/** The query parameter by which writers name themselves. */
const NAME = 'fieldManager'
const MAX_NAME_LENGTH = 128

/** Control characters, invisible characters, and white space other than the plain space. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

export function isApply(request: ApiRequest): boolean {
  return request.method === 'PATCH' && request.contentType === APPLY_PATCH
}

/** The writer of a request: its `fieldManager`, or the program that its User-Agent names. */
export function writerOf(context: WriterContext, request: ApiRequest): Writer {
  return {
    name: request.query.get(NAME) || programOf(request) || 'unknown',
    operation: isApply(request) ? 'Apply' : 'Update',
    subresource: request.subresource,
    apiVersion: ownedVersion(request),
    time: timestamp(context.clock.now()),
  }
}

/** 422 when `fieldManager` or `force` is missing or not allowed in this request. */
export function checkWriter(request: ApiRequest): StatusError | undefined {
  const name = request.query.get(NAME) ?? ''
  if (name === '' && isApply(request)) {
    return invalidOption(request, requiredValue(NAME, 'is required for apply patch'))
  }
  if (Buffer.byteLength(name) > MAX_NAME_LENGTH) {
    return invalidOption(request, tooLongValue(NAME, `may not be longer than ${MAX_NAME_LENGTH}`))
  }
  if (name !== name.replaceAll(UNPRINTABLE, '')) {
    const why = 'should only contain printable characters'
    return invalidOption(request, invalidValue(NAME, name, why))
  }
  if (request.query.has('force') && request.method === 'PATCH' && !isApply(request)) {
    const why = 'may not be specified for non-apply patch'
    return invalidOption(request, forbiddenValue('force', why))
  }
  return undefined
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ['POST', 'CreateOptions'],
  ['PUT', 'UpdateOptions'],
  ['PATCH', 'PatchOptions'],
])

function invalidOption(request: ApiRequest, cause: StatusCause): StatusError {
  const kind = KINDS.get(request.method) ?? 'PatchOptions'
  const details = { group: 'meta.k8s.io', kind, causes: [cause] }
  const message = `${kind}.meta.k8s.io "" is invalid: ${cause.field}: ${cause.message}`
  return new StatusError({ code: 422, reason: 'Invalid', message, details })
}

/** The program name in the User-Agent: `kubectl` for `kubectl/v1.20.2 (linux/amd64)`. */
function programOf(request: ApiRequest): string {
  const [program = ''] = request.userAgent.split('/')
  return program.replaceAll(UNPRINTABLE, '').slice(0, MAX_NAME_LENGTH)
}

/** The metadata that only the server writes; it has no owner. */
const SERVER_METADATA = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'selfLink',
  'clusterName',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
]

/**
 * Fields are owned in the version that objects are stored in, whatever served version a
 * request uses: a client that applies through several served versions is one owner.
 */
function ownedVersion(request: ApiRequest): string {
  return apiVersionOf(request.served.resource.versions[0]!)
}

export function ownedStructure(request: ApiRequest): Structure {
  const message = messageOf(ownedVersion(request), request.served.resource.kind)
  return message === undefined ? unknownStructure : structureOf(message)
}

/** The part of an object that a request of this kind can own; its metadata may be empty. */
export function ownedPart(request: ApiRequest, object: JsonObject): JsonObject {
  const { status } = object
  const metadata = without(objectAt(object, 'metadata'), ...SERVER_METADATA)
  const rest = without(object, 'kind', 'apiVersion', 'metadata')
  if (request.served.resource.status === undefined) return { metadata, ...rest }
  if (request.subresource !== 'status') return { metadata, ...without(rest, 'status') }
  return status === undefined ? { metadata } : { metadata, status }
}
