import type { JsonObject } from '../../lib/json.ts'
import type { Problem } from '../../resources/problem.ts'
import { validateUpdate } from '../../resources/validate-update.ts'
import { invalidObject } from '../admit.ts'
import type { ApiRequest } from '../api-request.ts'
import { services } from '../kinds/service.ts'
import { captureWarnings } from '../services/capture-warnings.ts'
import { nodeCapture } from '../services/node-capture.ts'
import type { Serving } from '../serving.ts'
import type { Refusal, StatusCause } from '../status.ts'

/**
 * 422 for an object that is valid by itself, but not as the successor of the old
 * one or beside the other objects of the cluster.
 */
export function checkWrite(
  serving: Serving,
  request: ApiRequest,
  next: JsonObject,
  old?: JsonObject,
): Refusal | undefined {
  const { resource } = request.face
  const fixed = old === undefined ? [] : validateUpdate(resource.kind, next, old).map(fixedCause)
  const captured = resource === services ? nodeCapture(serving, next, old) : undefined
  const causes = captured === undefined ? fixed : [...fixed, captured]
  if (causes.length > 0) return invalidObject(request, next, causes)
  if (resource === services) for (const text of captureWarnings(next, old)) request.warn(text)
  return undefined
}

function fixedCause({ field, value, message }: Problem): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${value}: ${message}`, field }
}
