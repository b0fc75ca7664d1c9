import type { PolicyRule } from '../../../auth/rbac/policy-rule.ts'

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
    ...{ APIGroups: apiGroups, Resources: resources },
    ...{ NonResourceURLs: nonResourceURLs, ResourceNames: resourceNames },
  }
  const given = Object.entries(lists).filter(([, list]) => list.length > 0)
  return given.map(([name, list]) => `${name}:${goList(list)}, `).join('')
}

/** A list of texts as Go prints it: `["get" "list"]`. */
export function goList(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`
}
