import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { badRequest, invalidText, type StatusError } from '../status/status.ts'

/** Whether the request must change nothing: `dryRun=All`. */
export function parseDryRun(request: ApiRequest): boolean | StatusError {
  const values = request.query.getAll('dryRun').filter((value) => value !== '')
  const wrong = values.find((value) => value !== 'All')
  if (wrong !== undefined) return badRequest(invalidText(wrong, 'dryRun must be All'))
  return values.length > 0
}

/** The version that an object sent by a client must replace; empty: any. "0" means any, too. */
export function requiredVersion(object: JsonObject): string {
  const version = stringAt(object, 'metadata', 'resourceVersion')
  return version === '0' ? '' : version
}
