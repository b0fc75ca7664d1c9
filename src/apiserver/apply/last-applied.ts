import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  without,
} from '../../lib/json.ts'
import { LAST_APPLIED } from '../../resources/label-names.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { fieldChanges } from './field-changes.ts'
import { difference, type FieldSet, noFields } from './field-set.ts'
import { fieldsOfValue } from './fields-of-value.ts'
import { ownedPart, ownedStructure } from './owned-structure.ts'

/** The name under which kubectl applies on the server. */
const KUBECTL = 'kubectl'

/**
 * The fields that kubectl applied on the client's side and that are unchanged since: when
 * kubectl applies on the server for the first time, they are no conflict.
 */
export function lastAppliedFields(request: ApiRequest, name: string, live: JsonObject): FieldSet {
  if (name !== KUBECTL) return noFields
  const last = parsed(stringAt(live, 'metadata', 'annotations', LAST_APPLIED))
  if (!isJsonObject(last)) return noFields
  const structure = ownedStructure(request)
  const applied = ownedPart(request, last)
  const since = fieldChanges(structure, applied, ownedPart(request, live))
  const fields = fieldsOfValue(structure, applied)
  return difference(difference(fields, since.changed), since.removed)
}

/** The object with kubectl's record of what it applied, if it keeps one, up to date. */
export function withLastApplied(name: string, object: JsonObject, applied: JsonObject): JsonObject {
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

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
