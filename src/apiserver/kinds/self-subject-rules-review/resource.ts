import type { PolicyRule } from '../../../auth/rbac/policy-rule.ts'
import { type JsonObject, stringAt } from '../../../lib/json.ts'
import type { ReviewContext } from '../../resource/review.ts'
import type { StatusError } from '../../status/status.ts'
import { badRequest } from '../../status/status-errors.ts'
import { reviewResource } from '../shared/review-resource.ts'

export const selfSubjectRulesReviews = reviewResource({
  plural: 'selfsubjectrulesreviews',
  singular: 'selfsubjectrulesreview',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
  versions: [{ group: 'authorization.k8s.io', version: 'v1' }],
  review: reviewOwnRules,
})

/**
 * Everything that the user of the request may do in a namespace. Paths are in none: only what is
 * granted for the whole cluster counts for them, as when a request for one is decided.
 */
function reviewOwnRules(
  { authorizer, user }: ReviewContext,
  question: JsonObject,
): JsonObject | StatusError {
  const namespace = stringAt(question, 'spec', 'namespace')
  if (namespace === '') return badRequest('spec.namespace is required')
  const resourceRules = authorizer
    .rulesOf(user, namespace)
    .filter(({ resources }) => resources.length > 0)
    .map(resourceRule)
  const nonResourceRules = authorizer
    .rulesOf(user, '')
    .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
    .map(({ verbs, nonResourceURLs }) => ({
      verbs: [...verbs],
      nonResourceURLs: [...nonResourceURLs],
    }))
  return { resourceRules, nonResourceRules, incomplete: false }
}

function resourceRule({ verbs, apiGroups, resources, resourceNames }: PolicyRule): JsonObject {
  return {
    verbs: [...verbs],
    apiGroups: [...apiGroups],
    resources: [...resources],
    ...(resourceNames.length > 0 && { resourceNames: [...resourceNames] }),
  }
}
