import { timestamp } from '../../lib/timestamp.ts'
import type { ApiRequest } from '../api-request.ts'
import type { Serving } from '../serving.ts'
import { Refusal, type StatusCause } from '../status.ts'
import { ownedVersion } from './owned-structure.ts'
import type { Writer } from './ownership-change.ts'

export const APPLY_PATCH = 'application/apply-patch+yaml'

const LONGEST_NAME = 128

/** Control characters, invisible ones, and white space but the plain one. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

export function isApply(request: ApiRequest): boolean {
  return request.method === 'PATCH' && request.contentType === APPLY_PATCH
}

/** Who this request writes as: its `fieldManager`, or the program that its User-Agent names. */
export function writerOf(serving: Serving, request: ApiRequest): Writer {
  return {
    name: request.query.get('fieldManager') || programOf(request) || 'unknown',
    operation: isApply(request) ? 'Apply' : 'Update',
    subresource: request.subresource,
    apiVersion: ownedVersion(request),
    time: timestamp(serving.clock.now()),
  }
}

/** 422 when `fieldManager` or `force` cannot stand in this request. */
export function checkWriter(request: ApiRequest): Refusal | undefined {
  const name = request.query.get('fieldManager') ?? ''
  if (name === '' && isApply(request)) {
    const message = 'Required value: is required for apply patch'
    return invalidOption(request, { reason: 'FieldValueRequired', message, field: 'fieldManager' })
  }
  if (Buffer.byteLength(name) > LONGEST_NAME) {
    const message = `Too long: may not be longer than ${LONGEST_NAME}`
    return invalidOption(request, { reason: 'FieldValueTooLong', message, field: 'fieldManager' })
  }
  if (name !== name.replaceAll(UNPRINTABLE, '')) {
    const message = `Invalid value: ${JSON.stringify(name)}: should only contain printable characters`
    return invalidOption(request, { reason: 'FieldValueInvalid', message, field: 'fieldManager' })
  }
  if (request.query.has('force') && request.method === 'PATCH' && !isApply(request)) {
    const message = 'Forbidden: may not be specified for non-apply patch'
    return invalidOption(request, { reason: 'FieldValueForbidden', message, field: 'force' })
  }
  return undefined
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ['POST', 'CreateOptions'],
  ['PUT', 'UpdateOptions'],
  ['PATCH', 'PatchOptions'],
])

function invalidOption(request: ApiRequest, cause: StatusCause): Refusal {
  const kind = KINDS.get(request.method) ?? 'PatchOptions'
  const details = { group: 'meta.k8s.io', kind, causes: [cause] }
  const message = `${kind}.meta.k8s.io "" is invalid: ${cause.field}: ${cause.message}`
  return new Refusal({ code: 422, reason: 'Invalid', message, details })
}

/** `kubectl` of `kubectl/v1.20.2 (linux/amd64)`. */
function programOf(request: ApiRequest): string {
  const [program = ''] = request.userAgent.split('/')
  return program.replaceAll(UNPRINTABLE, '').slice(0, LONGEST_NAME)
}
