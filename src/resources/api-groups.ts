/**
 * The groups that are served under two names: ours, and that of Kubernetes. The
 * latter is canonical: what is stored or compared carries that one.
 */
const CANONICAL: ReadonlyMap<string, string> = new Map(
  ['rbac.authorization', 'networking', 'coordination', 'discovery', 'events'].map((group) => [
    `${group}.orch.io`,
    `${group}.k8s.io`,
  ]),
)

export const RBAC_GROUP = 'rbac.authorization.k8s.io'

/** The one name of a group that may be called by two; any other group as it is. */
export function canonicalGroup(group: string): string {
  return CANONICAL.get(group) ?? group
}
