import { reviewResource } from '../shared/review-resource.ts'
import { reviewSubjectAccess } from './review.ts'
import { checkSubjectAccessReview } from './validation.ts'

export const subjectAccessReviews = reviewResource({
  plural: 'subjectaccessreviews',
  singular: 'subjectaccessreview',
  kind: 'SubjectAccessReview',
  namespaced: false,
  versions: [{ group: 'authorization.k8s.io', version: 'v1' }],
  validate: checkSubjectAccessReview,
  review: reviewSubjectAccess,
})
