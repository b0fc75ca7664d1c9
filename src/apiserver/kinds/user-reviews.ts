import type { User } from '../../auth/user.ts'
import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import type { ReviewContext } from '../resource/resource.ts'
import type { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'
import { reviewResource } from './shared/review-resource.ts'

const GROUP = 'authentication.k8s.io'

export const tokenReviews = reviewResource({
  plural: 'tokenreviews',
  singular: 'tokenreview',
  kind: 'TokenReview',
  namespaced: false,
  isConfidential: true,
  versions: [{ group: GROUP, version: 'v1' }],
  review: reviewToken,
})

/** In every version that Kubernetes has had since 1.26; the versions are identical. */
export const selfSubjectReviews = reviewResource({
  plural: 'selfsubjectreviews',
  singular: 'selfsubjectreview',
  kind: 'SelfSubjectReview',
  namespaced: false,
  versions: ['v1', 'v1beta1', 'v1alpha1'].map((version) => ({ group: GROUP, version })),
  review: reviewSelf,
})

/** Answers whose token it is. The reason of a rejection is not told, because it would help to forge a token. */
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

/** Answers who the user of the request is. */
function reviewSelf({ user }: ReviewContext): JsonObject {
  return { userInfo: userInfo(user) }
}

/** A user as clients read it (`authentication.k8s.io/v1` UserInfo). */
function userInfo({ name, uid, groups, extra }: User): JsonObject {
  return {
    username: name,
    ...(uid !== undefined && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra !== undefined &&
      extra.size > 0 && {
        extra: Object.fromEntries([...extra].map(([key, values]) => [key, [...values]])),
      }),
  }
}
