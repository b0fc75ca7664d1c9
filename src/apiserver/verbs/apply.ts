import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  parseJson,
  stringAt,
  without,
} from '../../lib/json.ts'
import { LAST_APPLIED } from '../../resources/label-names.ts'
import { checkType, storedForm } from '../admission/admit.ts'
import { checkFields } from '../admission/check-fields.ts'
import { checkMayCreate } from '../admission/write-rules.ts'
import { applyObject } from '../apply/apply-object.ts'
import { fieldChanges, fieldsOfValue } from '../apply/field-changes.ts'
import { difference, type FieldSet, noFields, pathText } from '../apply/field-set.ts'
import { type Conflict, type Owner, readOwners, type Writer, withOwners } from '../apply/owner.ts'
import { elementOf, partsOf, type Structure } from '../apply/structure.ts'
import { checkWriter, ownedPart, ownedStructure, writerOf } from '../apply/writer.ts'
import type { ServerContext } from '../context/server-context.ts'
import { dropNulls } from '../encoding/parse-json.ts'
import { parseYaml } from '../encoding/yaml.ts'
import { objectReply } from '../negotiation/negotiate.ts'
import { type ApiRequest, type HandlerResult, subjectOf } from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { fieldsOf } from '../schema/schema.ts'
import { badRequest, conflict, notFound, type StatusCause, StatusError } from '../status/status.ts'
import { createObject } from './create.ts'
import { checkIdentity, updateObject, updateOrCreate } from './update.ts'
import { requiredVersion } from './write-options.ts'

/** The field manager of kubectl for server-side apply. */
const KUBECTL = 'kubectl'

/** The maximum number of problems that one answer names. */
const MAX_PROBLEMS = 10

/** PATCH by server-side apply; creates the object if it does not exist. */
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

/** The part of an object that can be owned, in the version in which fields are owned. */
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

/** Adds the uid and resourceVersion of the applied object, which are preconditions on the live object. */
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

/** The object that an apply creates; its writer is its only owner. */
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

/** 409 with a cause per field, in the words that clients print. */
function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(causeOf)
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: text(conflicts),
    details: { causes },
  })
}

function causeOf({ owner, path }: Conflict): StatusCause {
  const message = `conflict with ${ownerText(owner)}`
  return { reason: 'FieldManagerConflict', message, field: pathText(path) }
}

function text(conflicts: readonly Conflict[]): string {
  const [first] = conflicts
  if (conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${ownerText(first!.owner)}: ${pathText(first!.path)}`
  }
  const byOwner = Map.groupBy(conflicts, ({ owner }) => ownerText(owner))
  const groups = [...byOwner].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(groupText)
  return `Apply failed with ${conflicts.length} conflicts: ${groups.join('\n')}`
}

function groupText([owner, conflicts]: readonly [string, readonly Conflict[]]): string {
  const lines = conflicts.map(({ path }) => `- ${pathText(path)}`)
  return [`conflicts with ${owner}:`, ...lines].join('\n')
}

function ownerText({ name, operation, subresource, apiVersion, time }: Owner): string {
  const within = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`
  const named = `${JSON.stringify(name)}${within}`
  if (operation === 'Apply') return named
  return `${named} using ${apiVersion}${time === '' ? '' : ` at ${time}`}`
}

/**
 * Why an applied object cannot be owned field by field: fields that its type
 * does not have, and list elements with the same key.
 */
function appliedProblems(
  structure: Structure,
  value: Json,
  path: readonly string[] = [],
): readonly string[] {
  const own = [...unknownFields(structure, value), ...elementProblems(structure, value)]
  const inside = [...partsOf(structure, value)].flatMap(([element, part]) =>
    appliedProblems(part.structure, part.value, [...path, element]),
  )
  return [...own.map((problem) => `${pathText(path)}${problem}`), ...inside]
}

function unknownFields(structure: Structure, value: Json): readonly string[] {
  if (structure.type !== 'struct' || !isJsonObject(value)) return []
  const fields = fieldsOf(structure.message)
  const unknown = Object.keys(value).filter((name) => fields?.has(name) !== true)
  return unknown.map((name) => `.${name}: field not declared in schema`)
}

function elementProblems(structure: Structure, value: Json): readonly string[] {
  if ((structure.type !== 'list' && structure.type !== 'set') || !Array.isArray(value)) return []
  const seen = new Set<string>()
  return value.flatMap((item, index) => {
    const element = elementOf(structure, item)
    if (element === undefined) return [`: element ${index}: ${missingKeys(structure, item)}`]
    if (seen.has(element)) return [`: duplicate entries for ${pathText([element])}`]
    seen.add(element)
    return []
  })
}

function missingKeys(structure: Structure, item: Json): string {
  if (structure.type !== 'list' || !isJsonObject(item)) return 'it must be an object'
  const missing = structure.keys.filter(
    (key) => key.default === undefined && !Object.hasOwn(item, key.name),
  )
  const names = missing.map((key) => JSON.stringify(key.name)).join(', ')
  return `associative list with keys has an element that omits key field ${names}`
}

/**
 * The fields that kubectl applied on the client's side and that are unchanged since: when kubectl first uses
 * server-side apply, they do not cause conflicts.
 */
function lastAppliedFields(request: ApiRequest, name: string, live: JsonObject): FieldSet {
  if (name !== KUBECTL) return noFields
  const last = parseJson(stringAt(live, 'metadata', 'annotations', LAST_APPLIED))
  if (!isJsonObject(last)) return noFields
  const structure = ownedStructure(request)
  const applied = ownedPart(request, last)
  const since = fieldChanges(structure, applied, ownedPart(request, live))
  const fields = fieldsOfValue(structure, applied)
  return difference(difference(fields, since.changed), since.removed)
}

/** The object with an updated annotation of what kubectl last applied, if it has that annotation. */
function withLastApplied(name: string, object: JsonObject, applied: JsonObject): JsonObject {
  const metadata = objectAt(object, 'metadata')
  const annotations = objectAt(metadata, 'annotations')
  if (name !== KUBECTL || !Object.hasOwn(annotations, LAST_APPLIED)) return object
  const { annotations: sent, ...rest } = objectAt(applied, 'metadata')
  const kept = without(objectAt(sent), LAST_APPLIED)
  const record = `${JSON.stringify({ ...applied, metadata: { ...rest, annotations: kept } })}\n`
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: record } },
  }
}
