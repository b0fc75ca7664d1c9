import { isJsonObject, type Json, type JsonObject, mergePatch, stringAt } from '../../lib/json.ts'
import { checkType } from '../admission/admit.ts'
import { checkFields } from '../admission/check-fields.ts'
import { APPLY_PATCH, isApply } from '../apply/writer.ts'
import type { ServerContext } from '../context/server-context.ts'
import { dropNulls, parseJson } from '../encoding/parse-json.ts'
import { objectReply } from '../negotiation/negotiate.ts'
import { applyJsonPatch } from '../patch/json-patch.ts'
import { strategicMerge } from '../patch/strategic-merge.ts'
import {
  type ApiRequest,
  type HandlerResult,
  invalidObject,
  subjectOf,
} from '../request/api-request.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { badRequest, notFound, StatusError, unsupportedMediaType } from '../status/status.ts'
import { apply } from './apply.ts'
import { updateObject } from './update.ts'
import { parseDryRun, requiredVersion } from './write-options.ts'

type Change = (document: JsonObject, patch: Json) => Json | StatusError

/** PATCH of an object, or of its status. */
export async function patch(context: ServerContext, request: ApiRequest): Promise<HandlerResult> {
  const dryRun = parseDryRun(request)
  if (dryRun instanceof StatusError) return dryRun
  if (isApply(request)) return apply(context, request, dryRun)
  const read = readPatch(context, request, [APPLY_PATCH])
  if (read instanceof StatusError) return read
  const { body } = request
  const { change, isConditional } = read
  const transition = (old: JsonObject): JsonObject | StatusError => {
    const patched = change(typed(request, old))
    const object = patched instanceof StatusError ? patched : checkType(request, dropNulls(patched))
    if (object instanceof StatusError) return object
    return checkFields(request, { object, before: old, body }) ?? object
  }
  const written = await updateObject(context, request, transition, { dryRun, isConditional })
  if (written === undefined) return notFound(subjectOf(request))
  return written instanceof StatusError ? written : objectReply(context, request, 200, written)
}

/** A parsed patch. */
export interface ReadPatch {
  /** Applies the patch to a document; deleted fields may be null in the result. */
  readonly change: (document: JsonObject) => Json | StatusError
  /** The patch names the version that it applies to. */
  readonly isConditional: boolean
}

/** Reads a patch of any type but server-side apply. `others`: the types that the caller accepts itself. */
export function readPatch(
  context: ServerContext,
  request: ApiRequest,
  others: readonly string[] = [],
): ReadPatch | StatusError {
  const types = patchTypes(context, request)
  const change = types.get(request.contentType)
  if (change === undefined) return unsupportedMediaType([...types.keys(), ...others])
  const document = parseJson(request.body, context.limits.jsonDepth)
  if (document instanceof StatusError) return document
  const isConditional = namesVersion(document)
  return { change: (before) => change(before, document), isConditional }
}

/** Whether a patch, of whatever type, applies to one version of its object only. */
function namesVersion(patch: Json): boolean {
  if (isJsonObject(patch)) return requiredVersion(patch) !== ''
  if (!Array.isArray(patch)) return false
  return patch.some((operation) => stringAt(operation, 'path') === VERSION_PATH)
}

const VERSION_PATH = '/metadata/resourceVersion'

function patchTypes(context: ServerContext, request: ApiRequest): ReadonlyMap<string, Change> {
  return new Map<string, Change>([
    [
      'application/json-patch+json',
      (document, change) => {
        const patched = applyJsonPatch(document, change, context.limits)
        return typeof patched === 'string' ? doesNotFit(request, document, patched) : patched
      },
    ],
    [
      'application/merge-patch+json',
      (document, change) =>
        isJsonObject(change)
          ? mergePatch(document, change)
          : badRequest('a merge patch must be a JSON object'),
    ],
    [
      'application/strategic-merge-patch+json',
      (document, change) => {
        if (!isJsonObject(change))
          return badRequest('a strategic merge patch must be a JSON object')
        const merged = strategicMerge(request.served.resource.kind, document, change)
        return 'value' in merged ? merged.value : doesNotFit(request, document, merged.problem)
      },
    ],
  ])
}

/** The object with kind and apiVersion, which a patch may test. */
function typed(request: ApiRequest, object: JsonObject): JsonObject {
  return { kind: request.served.resource.kind, apiVersion: apiVersionOf(request.served), ...object }
}

function doesNotFit(request: ApiRequest, document: JsonObject, problem: string): StatusError {
  const message = `the patch cannot be applied: ${problem}`
  return invalidObject(request, document, [
    { reason: 'FieldValueInvalid', message, field: 'patch' },
  ])
}
