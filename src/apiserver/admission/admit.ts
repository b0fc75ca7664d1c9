import { isJsonObject, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { isJson, parseDocument } from '../negotiation/parse-document.ts'
import { type ApiRequest, invalidObject } from '../request/api-request.ts'
import { applyDefaults, validateObject } from '../resource/object-rules.ts'
import { apiVersionOf } from '../resource/resource.ts'
import { badRequest, causeOf, StatusError } from '../status/status.ts'
import { checkFields, type ObjectType } from './check-fields.ts'
import { metadataCauses, withoutEmptyMetadata } from './metadata-rules.ts'

/** The limits for reading a document: how deep JSON may be nested. */
export interface DocumentLimits {
  readonly limits: { readonly jsonDepth: number }
}

/** Reads the object in the body of a request. `type`: the type of that object, if it is not the type of the resource. */
export function readObject(
  context: DocumentLimits,
  request: ApiRequest,
  type?: ObjectType,
): JsonObject | StatusError {
  const { contentType, body, served } = request
  const { kind } = type ?? served.resource
  const expected = { apiVersion: apiVersionOf(type ?? served), kind }
  const object = readDocument(context, request, expected)
  if (object instanceof StatusError) return object
  const sent = { object, ...(type && { type }), ...(isJson(contentType) && { body }) }
  return checkFields(request, sent) ?? object
}

/** The kind and version of a document. */
export interface DocumentType {
  readonly apiVersion: string
  readonly kind: string
}

/** Reads the document of a request's body, which must be of the expected type. */
export function readDocument(
  context: DocumentLimits,
  { body, contentType }: ApiRequest,
  expected: DocumentType,
): JsonObject | StatusError {
  const document = parseDocument(body, { contentType, depth: context.limits.jsonDepth, expected })
  return document instanceof StatusError ? document : ofType(expected, document)
}

/** The document as an object of the requested kind; kind and apiVersion may be absent. */
export function checkType(request: ApiRequest, document: Json): JsonObject | StatusError {
  return ofType(typeOf(request), document)
}

function typeOf({ served }: ApiRequest): DocumentType {
  return { apiVersion: apiVersionOf(served), kind: served.resource.kind }
}

function ofType(expected: DocumentType, document: Json): JsonObject | StatusError {
  if (!isJsonObject(document)) return badRequest('the body must be a JSON object')
  const version = stringAt(document, 'apiVersion') || expected.apiVersion
  if (version !== expected.apiVersion) {
    return badRequest(
      `the API version in the data (${JSON.stringify(version)}) does not match the expected API version (${expected.apiVersion})`,
    )
  }
  const kind = stringAt(document, 'kind') || expected.kind
  if (kind !== expected.kind) {
    return badRequest(`${JSON.stringify(kind)} was sent where a ${expected.kind} is expected`)
  }
  const metadata = Object.hasOwn(document, 'metadata') ? document['metadata'] : {}
  if (!isJsonObject(metadata)) return badRequest('metadata must be a JSON object')
  return { ...document, metadata: { ...metadata } }
}

/** A received object in stored form. */
export function storedForm(request: ApiRequest, object: JsonObject): JsonObject {
  return request.served.toStored?.(object) ?? object
}

/** The stored form with its defaults, or 422 with everything that is wrong; `old` is replaced. */
export function admit(
  request: ApiRequest,
  object: JsonObject,
  old?: JsonObject,
): JsonObject | StatusError {
  const { resource } = request.served
  const defaulted = withoutEmptyMetadata(applyDefaults(resource, object) as JsonObject)
  const causes = [
    ...metadataCauses(defaulted),
    ...validateObject(resource, defaulted, old).map(causeOf),
  ]
  return causes.length === 0 ? defaulted : invalidObject(request, defaulted, causes)
}
