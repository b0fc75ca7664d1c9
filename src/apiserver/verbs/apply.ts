import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { checkType, storedForm } from '../admission/admit.ts'
import { checkMayCreate } from '../admission/writer-rules.ts'
import { appliedProblems } from '../apply/applied-problems.ts'
import { applyConflict } from '../apply/apply-conflict.ts'
import { applyObject } from '../apply/apply-object.ts'
import { fieldsOfValue } from '../apply/fields-of-value.ts'
import { lastAppliedFields, withLastApplied } from '../apply/last-applied.ts'
import { ownedPart, ownedStructure } from '../apply/owned-structure.ts'
import { type Owner, readOwners, withOwners } from '../apply/owner.ts'
import type { Writer } from '../apply/ownership-change.ts'
import { checkWriter, writerOf } from '../apply/writer.ts'
import type { ServerContext } from '../context/server-context.ts'
import { dropNulls } from '../encoding/parse-json.ts'
import { parseYaml } from '../encoding/parse-yaml.ts'
import { checkFields } from '../field-validation/check-fields.ts'
import { objectReply } from '../negotiation/negotiate.ts'
import { type ApiRequest, type HandlerResult, subjectOf } from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { StatusError } from '../status/status.ts'
import { badRequest, conflict, notFound } from '../status/status-errors.ts'
import { createObject } from './create.ts'
import { requiredVersion } from './required-version.ts'
import { checkIdentity, updateObject } from './update.ts'
import { updateOrCreate } from './update-or-create.ts'

/** Problems of an applied object that one answer names. */
const MAX_PROBLEMS = 10

/** PATCH by server-side apply: makes the object when there is none. */
export async function apply(
  context: ServerContext,
  request: ApiRequest,
  dryRun: boolean,
): Promise<HandlerResult> {
  const applied = checkWriter(request) ?? readApplied(context, request)
  if (applied instanceof StatusError) return applied
  const writer = writerOf(context, request)
  const transition = (old: JsonObject) => appliedTo(request, writer, old, applied)
  const isConditional = requiredVersion(applied) !== ''
  const written = await updateOrCreate(context, request, {
    update: () => updateObject(context, request, transition, { dryRun, isConditional }),
    create: async () => {
      const fresh = firstOf(request, writer, applied)
      if (fresh instanceof StatusError) return fresh
      const refused = checkMayCreate(context, request)
      return refused ?? createObject(context, request, fresh, { dryRun })
    },
  })
  if (written instanceof StatusError) return written
  return objectReply(context, request, written.isNew ? 201 : 200, written)
}

/** The applied object, known to be of the right type, name and shape. */
function readApplied(context: ServerContext, request: ApiRequest): JsonObject | StatusError {
  const { body } = request
  const document = parseYaml(body, context.limits.jsonDepth)
  if (document instanceof StatusError) return document
  const object = checkType(request, dropNulls(document))
  if (object instanceof StatusError) return object
  const misnamed = checkIdentity(request, object)
  if (misnamed !== undefined) return misnamed
  if (Object.hasOwn(objectAt(object, 'metadata'), 'managedFields')) {
    return badRequest('metadata.managedFields must be nil')
  }
  const problems = appliedProblems(ownedStructure(request), appliedPart(request, object))
  if (problems.length > 0) return untyped(request, problems)
  return checkFields(request, { object }) ?? object
}

/** What the object says of fields that can be owned, in the version of ownership. */
function appliedPart(request: ApiRequest, object: JsonObject): JsonObject {
  const { metadata, ...rest } = ownedPart(request, storedForm(request, object))
  return Object.keys(objectAt(metadata)).length === 0 ? rest : { metadata: metadata!, ...rest }
}

/** The live object with the applied fields and its owners, or 409. */
function appliedTo(
  request: ApiRequest,
  writer: Writer,
  old: JsonObject,
  applied: JsonObject,
): JsonObject | StatusError {
  const live = storedForm(request, old)
  const result = applyObject({
    structure: ownedStructure(request),
    live,
    applied: appliedPart(request, applied),
    owners: readOwners(live) ?? [unknownOwner(request, writer, live)],
    writer,
    force: parseFlag(request.query, 'force'),
    free: lastAppliedFields(request, writer.name, live),
  })
  if ('conflicts' in result) return applyConflict(result.conflicts)
  const recorded = withLastApplied(writer.name, result.object, applied)
  const object = withPreconditions(recorded, applied)
  return withOwners(request.served.fromStored?.(object) ?? object, result.owners)
}

/** The owner of all fields of an object that was written before owners were recorded. */
function unknownOwner(request: ApiRequest, writer: Writer, live: JsonObject): Owner {
  const fields = fieldsOfValue(ownedStructure(request), ownedPart(request, live))
  return { ...writer, name: 'before-first-apply', operation: 'Update', time: '', fields }
}

/** An applied uid or resourceVersion is a condition on the live object. */
function withPreconditions(object: JsonObject, applied: JsonObject): JsonObject {
  const uid = stringAt(applied, 'metadata', 'uid')
  const resourceVersion = requiredVersion(applied)
  const metadata = {
    ...objectAt(object, 'metadata'),
    ...(uid === '' ? {} : { uid }),
    ...(resourceVersion === '' ? {} : { resourceVersion }),
  }
  return { ...object, metadata }
}

/** The object that an apply makes: its writer is its only owner. */
function firstOf(
  request: ApiRequest,
  writer: Writer,
  applied: JsonObject,
): JsonObject | StatusError {
  if (request.subresource !== '') return notFound(subjectOf(request))
  const isConditional =
    stringAt(applied, 'metadata', 'uid') !== '' || requiredVersion(applied) !== ''
  if (isConditional) return conflict(subjectOf(request))
  const fields = fieldsOfValue(ownedStructure(request), appliedPart(request, applied))
  const metadata = { ...objectAt(applied, 'metadata'), name: request.name }
  return withOwners({ ...applied, metadata }, [{ ...writer, fields }])
}

function untyped(request: ApiRequest, problems: readonly string[]): StatusError {
  const { served, namespace, name } = request
  const object = namespace === '' ? name : `${namespace}/${name}`
  const type = `${apiVersionOf(served)}, Kind=${served.resource.kind}`
  const shown = problems.slice(0, MAX_PROBLEMS).join('; ')
  return badRequest(`failed to create typed patch object (${object}; ${type}): ${shown}`)
}
