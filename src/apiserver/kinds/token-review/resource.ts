import { reviewResource } from '../shared/review-resource.ts'
import { reviewToken } from './review.ts'

export const tokenReviews = reviewResource({
  plural: 'tokenreviews',
  singular: 'tokenreview',
  kind: 'TokenReview',
  namespaced: false,
  isConfidential: true,
  versions: [{ group: 'authentication.k8s.io', version: 'v1' }],
  review: reviewToken,
})
