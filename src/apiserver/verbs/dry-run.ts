import type { ApiRequest } from '../api-request.ts'
import { invalidText } from '../causes.ts'
import { badRequest } from '../refusals.ts'
import type { Refusal } from '../status.ts'

/** Whether the request must change nothing: `dryRun=All`. */
export function parseDryRun(request: ApiRequest): boolean | Refusal {
  const values = request.query.getAll('dryRun').filter((value) => value !== '')
  const wrong = values.find((value) => value !== 'All')
  if (wrong !== undefined) return badRequest(invalidText(wrong, 'dryRun must be All'))
  return values.length > 0
}
