import type { PathAction } from '../action.ts'
import { ALL, type PolicyRule } from './policy-rule.ts'

/** Whether one rule alone permits what a user does with a path. */
export function permitsPath({ verbs, nonResourceURLs }: PolicyRule, action: PathAction): boolean {
  const isVerb = verbs.includes(ALL) || verbs.includes(action.verb)
  return isVerb && nonResourceURLs.some((url) => coversPath(url, action.path))
}

/** Whether the path or pattern `url` of a rule covers a path, or every path of a pattern. */
export function coversPath(url: string, path: string): boolean {
  if (url === ALL || url === path) return true
  return url.endsWith(ALL) && path.startsWith(url.replace(/\*+$/u, ''))
}
