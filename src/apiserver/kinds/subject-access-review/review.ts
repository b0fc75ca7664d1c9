import { type JsonObject, objectAt } from '../../../lib/json.ts'
import type { ReviewContext } from '../../resource/review.ts'
import { accessStatus, reviewedUser } from '../shared/access-review.ts'

/** Whether the user that is named may do it. */
export function reviewSubjectAccess(
  { authorizer }: ReviewContext,
  question: JsonObject,
): JsonObject {
  const spec = objectAt(question, 'spec')
  return accessStatus(authorizer, reviewedUser(spec), spec)
}
