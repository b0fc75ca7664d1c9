import { type JsonObject, objectAt } from '../../../lib/json.ts'
import type { ReviewContext } from '../../resource/review.ts'
import { accessStatus } from '../shared/access-review.ts'

/** Whether the user of the request may do it. */
export function reviewOwnAccess(
  { authorizer, user }: ReviewContext,
  question: JsonObject,
): JsonObject {
  return accessStatus(authorizer, user, objectAt(question, 'spec'))
}
