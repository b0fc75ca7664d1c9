import { arrayAt, type JsonObject, stringsAt } from '../../lib/json.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'
import type { PathAction } from '../action.ts'

/** Matches every verb, group, resource or path. */
export const ALL = '*'

/** One rule of a role: it is about resources, or about paths of the server. */
export interface PolicyRule {
  readonly verbs: readonly string[]
  /** Canonical; empty when the rule is about paths. */
  readonly apiGroups: readonly string[]
  /** `pods`, `pods/log`, or `<all>/log`, where `<all>` is `*`. */
  readonly resources: readonly string[]
  /** Empty: every object. */
  readonly resourceNames: readonly string[]
  /** Exact paths, or prefixes that end with `*`. */
  readonly nonResourceURLs: readonly string[]
}

/** Rules that permit every action. */
export const EVERYTHING: readonly PolicyRule[] = [
  { verbs: [ALL], apiGroups: [ALL], resources: [ALL], resourceNames: [], nonResourceURLs: [] },
  { verbs: [ALL], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [ALL] },
]

/** The rules of a Role or ClusterRole; a field that is not a list of strings counts as absent. */
export function rulesOfRole(role: JsonObject): readonly PolicyRule[] {
  return arrayAt(role, 'rules').map((rule) => ({
    verbs: stringsAt(rule, 'verbs'),
    apiGroups: stringsAt(rule, 'apiGroups').map(canonicalGroup),
    resources: stringsAt(rule, 'resources'),
    resourceNames: stringsAt(rule, 'resourceNames'),
    nonResourceURLs: stringsAt(rule, 'nonResourceURLs'),
  }))
}

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
