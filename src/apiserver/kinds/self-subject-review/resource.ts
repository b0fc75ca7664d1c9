import type { JsonObject } from '../../../lib/json.ts'
import type { ReviewContext } from '../../resource/review.ts'
import { reviewResource } from '../shared/review-resource.ts'
import { userInfo } from '../shared/user-info.ts'

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

/** Who the user of the request is. */
function reviewSelf({ user }: ReviewContext): JsonObject {
  return { userInfo: userInfo(user) }
}
