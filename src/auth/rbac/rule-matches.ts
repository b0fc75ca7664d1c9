import { type Action, isPathAction, type ResourceAction } from '../action.ts'
import { ALL, type PolicyRule } from './policy-rule.ts'

/** Whether one rule alone permits an action, wherever its role is bound. */
export function ruleMatches(rule: PolicyRule, action: Action): boolean {
  if (!holds(rule.verbs, action.verb)) return false
  if (isPathAction(action)) return rule.nonResourceURLs.some((url) => coversPath(url, action.path))
  return (
    holds(rule.apiGroups, action.group) &&
    matchesResource(rule.resources, action) &&
    (rule.resourceNames.length === 0 || matchesName(rule.resourceNames, action.name))
  )
}

/** Whether the path or pattern `url` of a rule covers a path, or every path of a pattern. */
export function coversPath(url: string, path: string): boolean {
  if (url === ALL || url === path) return true
  return url.endsWith(ALL) && path.startsWith(url.replace(/\*+$/u, ''))
}

/** Whether a resource of a rule covers another: `pods` does not cover `pods/log`. */
export function coversResource(resource: string, other: string): boolean {
  if (resource === ALL || resource === other) return true
  const slash = other.indexOf('/')
  return slash >= 0 && resource === `${ALL}${other.slice(slash)}`
}

function matchesResource(resources: readonly string[], action: ResourceAction): boolean {
  const { resource, subresource } = action
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  return resources.some((one) => coversResource(one, whole))
}

/** An action without a name is about many objects, which a rule about some of them does not permit. */
function matchesName(names: readonly string[], name: string): boolean {
  return name !== '' && names.includes(name)
}

function holds(texts: readonly string[], text: string): boolean {
  return texts.includes(ALL) || texts.includes(text)
}
