import { reviewResource } from '../shared/review-resource.ts'
import { reviewLocalAccess } from './review.ts'
import { checkLocalSubjectAccessReview } from './validation.ts'

export const localSubjectAccessReviews = reviewResource({
  plural: 'localsubjectaccessreviews',
  singular: 'localsubjectaccessreview',
  kind: 'LocalSubjectAccessReview',
  namespaced: true,
  versions: [{ group: 'authorization.k8s.io', version: 'v1' }],
  validate: checkLocalSubjectAccessReview,
  review: reviewLocalAccess,
})
