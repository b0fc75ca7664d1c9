import { arrayAt, type JsonObject, stringAt } from '../../../lib/json.ts'
import type { ReviewContext } from '../../resource/review.ts'
import type { StatusError } from '../../status/status.ts'
import { badRequest } from '../../status/status-errors.ts'
import { reviewResource } from '../shared/review-resource.ts'
import { userInfo } from '../shared/user-info.ts'

export const tokenReviews = reviewResource({
  plural: 'tokenreviews',
  singular: 'tokenreview',
  kind: 'TokenReview',
  namespaced: false,
  isConfidential: true,
  versions: [{ group: 'authentication.k8s.io', version: 'v1' }],
  review: reviewToken,
})

/** Whose token it is. Why one is rejected is not said: it would help to forge another. */
async function reviewToken(
  { tokens }: ReviewContext,
  question: JsonObject,
): Promise<JsonObject | StatusError> {
  const token = stringAt(question, 'spec', 'token')
  if (token === '') return badRequest('spec.token is required')
  const audiences = arrayAt(question, 'spec', 'audiences').filter((one) => typeof one === 'string')
  const found = await tokens.review(token, audiences)
  if ('rejected' in found) return { authenticated: false, error: 'the token is not accepted' }
  return { authenticated: true, user: userInfo(found.user), audiences: [...found.audiences] }
}
