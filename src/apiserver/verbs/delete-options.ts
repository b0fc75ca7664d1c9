import { isJsonObject, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { ServerContext } from '../context/server-context.ts'
import { parseDocument } from '../negotiation/parse-document.ts'
import { type ApiRequest, subjectOf } from '../request/api-request.ts'
import {
  badRequest,
  conflict,
  invalid,
  invalidValue,
  type StatusCause,
  StatusError,
  unsupportedValue,
} from '../status/status.ts'
import { parseDryRun } from './write-options.ts'

export interface DeleteOptions {
  /** The object must have this uid; empty: any. */
  readonly uid: string
  /** The object must have this version; empty: any. */
  readonly resourceVersion: string
  readonly dryRun: boolean
  /** Seconds that a Pod has to end; undefined: as many as its spec names. */
  readonly graceSeconds: number | undefined
  /** What happens to its dependents; undefined: as its finalizers say, else Background. */
  readonly propagation: Propagation | undefined
}

const POLICY = 'propagationPolicy'
const POLICIES = ['Foreground', 'Background', 'Orphan'] as const

export type Propagation = (typeof POLICIES)[number]

/** Reads the DeleteOptions of a request: its body, if any, and its query for what that omits. */
export function readDeleteOptions(
  context: ServerContext,
  request: ApiRequest,
): DeleteOptions | StatusError {
  const document = readOptions(context, request)
  return document instanceof StatusError ? document : parseDeleteOptions(document, request)
}

/** Parses DeleteOptions; what they omit is in the query of the request. */
export function parseDeleteOptions(
  document: JsonObject,
  request: ApiRequest,
): DeleteOptions | StatusError {
  const given = (name: string): Json => document[name] ?? request.query.get(name) ?? ''
  const propagation = readPropagation(given(POLICY), given('orphanDependents'))
  if (propagation instanceof StatusError) return propagation
  const graceSeconds = readGrace(given('gracePeriodSeconds'))
  if (graceSeconds instanceof StatusError) return graceSeconds
  const queried = parseDryRun(request)
  if (queried instanceof StatusError) return queried
  const listed = Array.isArray(document['dryRun']) ? document['dryRun'] : []
  if (listed.some((value) => value !== 'All')) return badRequest('dryRun must be All')
  const preconditions = readPreconditions(document['preconditions'])
  if (preconditions instanceof StatusError) return preconditions
  return {
    ...preconditions,
    dryRun: queried || listed.length > 0,
    graceSeconds,
    propagation,
  }
}

const OPTIONS = { apiVersion: 'v1', kind: 'DeleteOptions' }

function readOptions(context: ServerContext, request: ApiRequest): JsonObject | StatusError {
  const { body } = request
  if (body.length === 0) return {}
  const { contentType } = request
  const depth = context.limits.jsonDepth
  const document = parseDocument(body, { contentType, depth, expected: OPTIONS })
  if (document instanceof StatusError) return document
  return isJsonObject(document) ? document : badRequest('DeleteOptions must be a JSON object')
}

/** The policy, or its equivalent in the older `orphanDependents`. */
function readPropagation(policy: Json, orphans: Json): Propagation | StatusError | undefined {
  const known = POLICIES.find((one) => one === policy)
  if (known === undefined && policy !== '') {
    return refusedPolicy(unsupportedValue(POLICY, policy, POLICIES))
  }
  if (orphans === '') return known
  if (policy !== '') {
    const why = 'orphanDependents and deletionPropagation cannot be both set'
    return refusedPolicy(invalidValue(POLICY, policy, why))
  }
  if (orphans === true || orphans === 'true') return 'Orphan'
  if (orphans === false || orphans === 'false') return 'Background'
  return badRequest('orphanDependents must be true or false')
}

/** Reads the preconditions. A malformed one is refused, because ignoring it could delete the wrong object. */
function readPreconditions(
  given: Json | undefined,
): Pick<DeleteOptions, 'uid' | 'resourceVersion'> | StatusError {
  const preconditions = given ?? {}
  if (!isJsonObject(preconditions)) return badRequest('preconditions must be a JSON object')
  const { uid, resourceVersion } = { uid: '', resourceVersion: '', ...preconditions }
  if (typeof uid === 'string' && typeof resourceVersion === 'string') {
    return { uid, resourceVersion }
  }
  return badRequest('preconditions.uid and preconditions.resourceVersion must be strings')
}

function readGrace(value: Json): number | StatusError | undefined {
  if (value === '') return undefined
  const isWritten = typeof value === 'string' && /^-?\d{1,16}$/.test(value)
  const seconds = isWritten ? Number(value) : value
  if (!Number.isSafeInteger(seconds)) {
    return badRequest('gracePeriodSeconds must be a whole number of seconds')
  }
  return Number(seconds)
}

/** 409 when the object does not meet the preconditions. */
export function checkPreconditions(
  request: ApiRequest,
  options: DeleteOptions,
  object: JsonObject,
): StatusError | undefined {
  const metadata = objectAt(object, 'metadata')
  const checks = [
    ['UID', options.uid, stringAt(metadata, 'uid')],
    ['ResourceVersion', options.resourceVersion, stringAt(metadata, 'resourceVersion')],
  ] as const
  for (const [what, wanted, actual] of checks) {
    if (wanted !== '' && wanted !== actual) {
      const why = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`
      return conflict(subjectOf(request, stringAt(metadata, 'name')), why)
    }
  }
  return undefined
}

function refusedPolicy(cause: StatusCause): StatusError {
  return invalid('DeleteOptions', { plural: '', group: 'meta.k8s.io', name: '' }, [cause])
}
