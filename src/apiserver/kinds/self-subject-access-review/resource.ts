import { reviewResource } from '../shared/review-resource.ts'
import { reviewOwnAccess } from './review.ts'
import { checkSelfSubjectAccessReview } from './validation.ts'

export const selfSubjectAccessReviews = reviewResource({
  plural: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
  versions: [{ group: 'authorization.k8s.io', version: 'v1' }],
  validate: checkSelfSubjectAccessReview,
  review: reviewOwnAccess,
})
