import { type JsonObject, objectAt } from '../../../lib/json.ts'
import type { Reader } from '../../../resources/reader.ts'
import type { ReviewContext } from '../../resource/review.ts'
import { accessStatus, checkAccess, checkUser, reviewedUser } from '../shared/access-review.ts'
import { reviewResource } from '../shared/review-resource.ts'

export const subjectAccessReviews = reviewResource({
  plural: 'subjectaccessreviews',
  singular: 'subjectaccessreview',
  kind: 'SubjectAccessReview',
  namespaced: false,
  versions: [{ group: 'authorization.k8s.io', version: 'v1' }],
  validate: checkSubjectAccessReview,
  review: reviewSubjectAccess,
})

function checkSubjectAccessReview(object: Reader): void {
  const spec = object.object('spec')
  checkAccess(spec)
  checkUser(spec)
}

/** Whether the user that is named may do it. */
function reviewSubjectAccess({ authorizer }: ReviewContext, question: JsonObject): JsonObject {
  const spec = objectAt(question, 'spec')
  return accessStatus(authorizer, reviewedUser(spec), spec)
}
