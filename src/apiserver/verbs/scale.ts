import { isJsonObject, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { readDocument } from '../admission/admit.ts'
import type { ServerContext } from '../context/server-context.ts'
import { decodeStored, type Written } from '../encoding/codec.ts'
import { allowsPlainJson, parseAccept } from '../encoding/media-type.ts'
import {
  type ApiRequest,
  type HandlerResult,
  jsonReply,
  subjectOf,
} from '../request/api-request.ts'
import type { ScaledResource } from '../resource/resource.ts'
import {
  badRequest,
  invalid,
  invalidValue,
  notAcceptable,
  notFound,
  StatusError,
} from '../status/status.ts'
import { identityOf } from './get.ts'
import { readPatch } from './patch.ts'
import { readNewest } from './read-newest.ts'
import { checkIdentity, type Transition, updateObject } from './update.ts'
import { parseDryRun, requiredVersion } from './write-options.ts'

/** The type of the subresource `scale`, the same for all kinds. */
export const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const
const TYPE = { kind: SCALE.kind, apiVersion: `${SCALE.group}/${SCALE.version}` }

const MAX_REPLICAS = 2 ** 31 - 1

/** GET of the number of replicas of an object. */
export async function getScale(
  scaled: ScaledResource,
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const found = await readNewest(context, request)
  if (found === undefined) return notFound(subjectOf(request))
  return found instanceof StatusError ? found : scaleReply(scaled, request, found)
}

/** PUT: sets the number of replicas from the body, and ignores the rest of it. */
export async function putScale(
  scaled: ScaledResource,
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const document = readDocument(context, request, TYPE)
  if (document instanceof StatusError) return document
  const isConditional = requiredVersion(document) !== ''
  return write(scaled, context, request, {
    isConditional,
    transition: (old) => withScale(request, old, document),
  })
}

/** PATCH of any type except server-side apply. */
export async function patchScale(
  scaled: ScaledResource,
  context: ServerContext,
  request: ApiRequest,
): Promise<HandlerResult> {
  const patch = readPatch(context, request)
  if (patch instanceof StatusError) return patch
  return write(scaled, context, request, {
    isConditional: patch.isConditional,
    transition: (old) => {
      const patched = patch.change(scaleOf(scaled, old))
      if (patched instanceof StatusError) return patched
      return isJsonObject(patched)
        ? withScale(request, old, patched)
        : badRequest('the body must be a JSON object')
    },
  })
}

interface ScaleWrite {
  readonly transition: Transition
  readonly isConditional: boolean
}

async function write(
  scaled: ScaledResource,
  context: ServerContext,
  request: ApiRequest,
  { transition, isConditional }: ScaleWrite,
): Promise<HandlerResult> {
  const dryRun = parseDryRun(request)
  if (dryRun instanceof StatusError) return dryRun
  const written = await updateObject(context, request, transition, { dryRun, isConditional })
  if (written === undefined) return notFound(subjectOf(request))
  return written instanceof StatusError ? written : scaleReply(scaled, request, written)
}

/** An object's number of replicas as the subresource shows it. */
function scaleOf(scaled: ScaledResource, object: JsonObject): JsonObject {
  const wanted = Number(valueAt(object, 'spec', 'replicas') ?? 0)
  const selector = scaled.selector(object)
  return {
    ...TYPE,
    metadata: identityOf(object),
    spec: wanted === 0 ? {} : { replicas: wanted },
    status: { replicas: Number(valueAt(object, 'status', 'replicas') ?? 0), selector },
  }
}

/** The object with the number of replicas in a Scale. A resourceVersion in the Scale is a precondition. */
function withScale(
  request: ApiRequest,
  old: JsonObject,
  scale: JsonObject,
): JsonObject | StatusError {
  const misnamed = checkIdentity(request, scale)
  if (misnamed !== undefined) return misnamed
  const replicas = valueAt(scale, 'spec', 'replicas') ?? 0
  if (!isReplicas(replicas)) {
    const why = `must be an integer from 0 to ${MAX_REPLICAS}`
    const cause = invalidValue('spec.replicas', replicas, why)
    const subject = { ...subjectOf(request), group: SCALE.group }
    return invalid(SCALE.kind, subject, [cause])
  }
  const resourceVersion = requiredVersion(scale)
  const uid = stringAt(scale, 'metadata', 'uid')
  const metadata = {
    ...objectAt(old, 'metadata'),
    ...(resourceVersion === '' ? {} : { resourceVersion }),
    ...(uid === '' ? {} : { uid }),
  }
  return { ...old, metadata, spec: { ...objectAt(old, 'spec'), replicas } }
}

function isReplicas(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_REPLICAS
}

function scaleReply(scaled: ScaledResource, request: ApiRequest, written: Written): HandlerResult {
  if (!parseAccept(request.accept).some(allowsPlainJson)) {
    return notAcceptable(['application/json'])
  }
  const body = `${JSON.stringify(scaleOf(scaled, decodeStored(written)))}\n`
  return jsonReply(200, Buffer.from(body))
}
