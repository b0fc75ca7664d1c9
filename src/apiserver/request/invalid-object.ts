import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { StatusCause, StatusError } from '../status/status.ts'
import { invalid } from '../status/status-errors.ts'
import { type ApiRequest, subjectOf } from './api-request.ts'

/** 422 for the object of a request, with the name from the object, because the path of a create has none. */
export function invalidObject(
  request: ApiRequest,
  object: JsonObject,
  causes: readonly StatusCause[],
): StatusError {
  const name = stringAt(objectAt(object, 'metadata'), 'name')
  return invalid(request.served.resource.kind, subjectOf(request, name), causes)
}
