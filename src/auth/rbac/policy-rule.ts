import { arrayAt, type Json, type JsonObject } from '../../lib/json.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'

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
    verbs: texts(rule, 'verbs'),
    apiGroups: texts(rule, 'apiGroups').map(canonicalGroup),
    resources: texts(rule, 'resources'),
    resourceNames: texts(rule, 'resourceNames'),
    nonResourceURLs: texts(rule, 'nonResourceURLs'),
  }))
}

function texts(rule: Json, key: string): readonly string[] {
  return arrayAt(rule, key).filter((one) => typeof one === 'string')
}
