import type { ApiRequest } from '../request/api-request.ts'
import { invalidText } from '../status/causes.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** Whether the request must change nothing: `dryRun=All`. */
export function parseDryRun(request: ApiRequest): boolean | StatusError {
  const values = request.query.getAll('dryRun').filter((value) => value !== '')
  const wrong = values.find((value) => value !== 'All')
  if (wrong !== undefined) return badRequest(invalidText(wrong, 'dryRun must be All'))
  return values.length > 0
}
