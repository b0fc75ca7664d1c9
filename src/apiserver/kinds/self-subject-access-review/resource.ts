import { type JsonObject, objectAt } from '../../../lib/json.ts'
import type { Reader } from '../../../resources/reader.ts'
import type { ReviewContext } from '../../resource/review.ts'
import { accessStatus, checkAccess } from '../shared/access-review.ts'
import { reviewResource } from '../shared/review-resource.ts'

export const selfSubjectAccessReviews = reviewResource({
  plural: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
  versions: [{ group: 'authorization.k8s.io', version: 'v1' }],
  validate: checkSelfSubjectAccessReview,
  review: reviewOwnAccess,
})

function checkSelfSubjectAccessReview(object: Reader): void {
  checkAccess(object.object('spec'))
}

/** Whether the user of the request may do it. */
function reviewOwnAccess({ authorizer, user }: ReviewContext, question: JsonObject): JsonObject {
  return accessStatus(authorizer, user, objectAt(question, 'spec'))
}
