import type { WriterAccess } from '../../../auth/rbac/authorizer.ts'
import type { PolicyRule } from '../../../auth/rbac/policy-rule.ts'
import { uncoveredRules } from '../../../auth/rbac/uncovered-rules.ts'
import type { BoundKind } from '../../../auth/tokens/account-claims.ts'
import { isDeepEqual } from '../../../lib/equal.ts'
import { type JsonObject, without } from '../../../lib/json.ts'
import type { StoredResource } from '../../resource/resource.ts'
import { forbidden, type StatusError, type Subject } from '../../status/status.ts'

/** The kinds of objects that a token can be bound to, by their name in the claims. */
export const BINDABLE: Readonly<Record<BoundKind, Bindable>> = {
  pod: { kind: 'Pod', plural: 'pods', namespaced: true },
  secret: { kind: 'Secret', plural: 'secrets', namespaced: true },
  node: { kind: 'Node', plural: 'nodes', namespaced: false },
}

/** The maximum number of rules that one error lists. */
const MAX_LISTED = 10
const MAX_TEXT = 4096

/** 403 for a user who grants rules, in a namespace or in the whole cluster, without holding them. */
export function escalation(
  { user, rulesIn }: WriterAccess,
  subject: Subject,
  { rules, namespace }: { readonly rules: readonly PolicyRule[]; readonly namespace: string },
): StatusError | undefined {
  const uncovered = uncoveredRules(rules, rulesIn(namespace))
  if (uncovered.length === 0) return undefined
  const who = `user ${JSON.stringify(user.name)} (groups=${goList(user.groups)})`.slice(0, MAX_TEXT)
  const what = `${who} is attempting to grant RBAC permissions not currently held`
  if (uncovered === 'tooMany') return forbidden(subject, `${what}: too many to compare`)
  const texts = ruleTexts(uncovered)
  const listed = texts.slice(0, MAX_LISTED).join('\n').slice(0, MAX_TEXT)
  const left = texts.length - MAX_LISTED
  return forbidden(subject, `${what}:\n${listed}${left > 0 ? `\nand ${left} more` : ''}`)
}

/** Whether two states of a role or binding grant the same: they differ only in their metadata. */
export function grantsSame(next: JsonObject, old: JsonObject): boolean {
  const content = (object: JsonObject) => without(object, 'metadata', 'kind', 'apiVersion')
  return isDeepEqual(content(next), content(old))
}

/** Rules as kube-apiserver prints them, one for each line of its refusal; verbs of the same objects are joined. */
export function ruleTexts(rules: readonly PolicyRule[]): readonly string[] {
  const verbs = new Map<string, string[]>()
  for (const rule of rules) {
    const what = objectsText(rule)
    verbs.set(what, [...(verbs.get(what) ?? []), ...rule.verbs])
  }
  return [...verbs].map(([what, all]) => `{${what}Verbs:${goList([...new Set(all)])}}`)
}

function objectsText({ apiGroups, resources, nonResourceURLs, resourceNames }: PolicyRule): string {
  const lists = {
    APIGroups: apiGroups,
    Resources: resources,
    NonResourceURLs: nonResourceURLs,
    ResourceNames: resourceNames,
  }
  const given = Object.entries(lists).filter(([, list]) => list.length > 0)
  return given.map(([name, list]) => `${name}:${goList(list)}, `).join('')
}

/** A list of texts as Go prints it: `["get" "list"]`. */
function goList(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`
}

/** A kind of objects that a token can be bound to. */
interface Bindable extends StoredResource {
  /** The kind, as a request names it. */
  readonly kind: string
}
