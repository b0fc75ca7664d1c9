import { type JsonObject, objectAt } from '../../../lib/json.ts'
import type { Reader } from '../../../resources/reader.ts'
import type { ReviewContext } from '../../resource/review.ts'
import { accessStatus, checkAccess, checkUser, reviewedUser } from '../shared/access-review.ts'
import { reviewResource } from '../shared/review-resource.ts'

export const localSubjectAccessReviews = reviewResource({
  plural: 'localsubjectaccessreviews',
  singular: 'localsubjectaccessreview',
  kind: 'LocalSubjectAccessReview',
  namespaced: true,
  versions: [{ group: 'authorization.k8s.io', version: 'v1' }],
  validate: checkLocalSubjectAccessReview,
  review: reviewLocalAccess,
})

/** Whether the user that is named may do it in the namespace of the review. */
function reviewLocalAccess({ authorizer }: ReviewContext, question: JsonObject): JsonObject {
  const spec = objectAt(question, 'spec')
  return accessStatus(authorizer, reviewedUser(spec), spec)
}

/** It is about resources of its own namespace: who may create it learns nothing of another one. */
function checkLocalSubjectAccessReview(object: Reader): void {
  const spec = object.object('spec')
  checkAccess(spec)
  checkUser(spec)
  if (spec.value('nonResourceAttributes') !== undefined) {
    spec.refuse('nonResourceAttributes', 'must be absent: a path is in no namespace')
  }
  if (spec.value('resourceAttributes') === undefined) return
  const attributes = spec.object('resourceAttributes')
  if (attributes.value('namespace') !== object.object('metadata').value('namespace')) {
    attributes.refuse('namespace', 'must be the namespace of the review')
  }
}
