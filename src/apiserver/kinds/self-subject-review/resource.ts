import { reviewResource } from '../shared/review-resource.ts'
import { reviewSelf } from './review.ts'

const GROUP = 'authentication.k8s.io'

/** In every version that Kubernetes has had since 1.26; they differ in nothing. */
export const selfSubjectReviews = reviewResource({
  plural: 'selfsubjectreviews',
  singular: 'selfsubjectreview',
  kind: 'SelfSubjectReview',
  namespaced: false,
  versions: ['v1', 'v1beta1', 'v1alpha1'].map((version) => ({ group: GROUP, version })),
  review: reviewSelf,
})
