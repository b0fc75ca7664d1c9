import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkTexts } from '../shared/checks.ts'
import { checkLabelSelector } from '../shared/label-selector.ts'

/** Lists that say which resources a rule is about. */
const ABOUT_RESOURCES = ['apiGroups', 'resources', 'resourceNames'] as const

export function checkRole(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'segment' })
  for (const rule of object.objects('rules')) {
    checkRule(rule)
    if (rule.list('nonResourceURLs').length > 0) {
      rule.refuse('nonResourceURLs', 'must be given in a ClusterRole: URLs are in no namespace')
    }
  }
}

export function checkClusterRole(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'segment' })
  for (const rule of object.objects('rules')) checkRule(rule)
  if (object.value('aggregationRule') === undefined) return
  const aggregation = object.object('aggregationRule')
  const selectors = aggregation.objects('clusterRoleSelectors')
  if (selectors.length === 0) {
    aggregation.refuse('clusterRoleSelectors', 'must have at least one selector')
  }
  for (const selector of selectors) checkLabelSelector(selector)
}

/** A rule is about resources or about URLs, never both. */
function checkRule(rule: Reader): void {
  if (!checkTexts(rule, 'verbs')) rule.refuse('verbs', 'must have at least one verb')
  const isAboutUrls = checkTexts(rule, 'nonResourceURLs')
  for (const key of ABOUT_RESOURCES) {
    const isGiven = checkTexts(rule, key)
    if (isAboutUrls && isGiven) {
      rule.refuse(key, 'must be absent in a rule about nonResourceURLs')
    } else if (!isAboutUrls && !isGiven && key !== 'resourceNames') {
      rule.refuse(key, 'must have at least one item, or else nonResourceURLs must')
    }
  }
}
