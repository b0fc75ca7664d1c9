import { type Clock, timestamp } from '../../lib/clock.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { forbiddenValue, invalidValue, requiredValue, tooLongValue } from '../status/causes.ts'
import { type StatusCause, StatusError } from '../status/status.ts'
import { ownedVersion } from './owned-structure.ts'
import type { Writer } from './ownership-change.ts'

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
