import { reviewResource } from '../shared/review-resource.ts'
import { reviewOwnRules } from './review.ts'

export const selfSubjectRulesReviews = reviewResource({
  plural: 'selfsubjectrulesreviews',
  singular: 'selfsubjectrulesreview',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
  versions: [{ group: 'authorization.k8s.io', version: 'v1' }],
  review: reviewOwnRules,
})
