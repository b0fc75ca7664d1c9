import { isJsonObject, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { type ApiRequest, subjectOf } from '../api-request.ts'
import { parseDocument } from '../parse-document.ts'
import { badRequest, conflict, invalid } from '../refusals.ts'
import type { Serving } from '../serving.ts'
import { Refusal } from '../status.ts'
import { parseDryRun } from './dry-run.ts'

export interface DeleteOptions {
  /** Only this very object may be deleted; empty: any. */
  readonly uid: string
  /** Only this version may be deleted; empty: any. */
  readonly resourceVersion: string
  readonly dryRun: boolean
}

const POLICIES = ['', 'Orphan', 'Background', 'Foreground']

/** Reads the DeleteOptions of a request: its body, if any, and its query. */
export async function readDeleteOptions(
  serving: Serving,
  request: ApiRequest,
): Promise<DeleteOptions | Refusal> {
  const document = await readOptions(serving, request)
  if (document instanceof Refusal) return document
  const policy =
    stringAt(document, 'propagationPolicy') || (request.query.get('propagationPolicy') ?? '')
  if (!POLICIES.includes(policy)) return badPolicy(policy)
  const queried = parseDryRun(request)
  if (queried instanceof Refusal) return queried
  const listed = Array.isArray(document['dryRun']) ? document['dryRun'] : []
  if (listed.some((value) => value !== 'All')) return badRequest('dryRun must be All')
  const preconditions = objectAt(document, 'preconditions')
  return {
    uid: stringAt(preconditions, 'uid'),
    resourceVersion: stringAt(preconditions, 'resourceVersion'),
    dryRun: queried || listed.length > 0,
  }
}

const OPTIONS = { apiVersion: 'v1', kind: 'DeleteOptions' }

async function readOptions(serving: Serving, request: ApiRequest): Promise<JsonObject | Refusal> {
  const body = await request.body()
  if (body instanceof Refusal) return body
  if (body.length === 0) return {}
  const { contentType } = request
  const depth = serving.limits.jsonDepth
  const document = parseDocument(body, { contentType, depth, expected: OPTIONS })
  if (document instanceof Refusal) return document
  return isJsonObject(document) ? document : badRequest('DeleteOptions must be a JSON object')
}

/** 409 when the object is not the one that the client meant. */
export function checkPreconditions(
  request: ApiRequest,
  options: DeleteOptions,
  object: JsonObject,
): Refusal | undefined {
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

function badPolicy(policy: string): Refusal {
  const message = `Unsupported value: ${JSON.stringify(policy)}: supported values: "Foreground", "Background", "Orphan"`
  const cause = { reason: 'FieldValueNotSupported', message, field: 'propagationPolicy' }
  return invalid('DeleteOptions', { plural: '', group: 'meta.k8s.io', name: '' }, [cause])
}
