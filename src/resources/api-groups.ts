/**
 * The groups that are served under two names: our own and that of Kubernetes. The latter is canonical: it is used for
 * storing and comparing.
 */
const CANONICAL: ReadonlyMap<string, string> = new Map(
  [
    'certificates',
    'coordination',
    'discovery',
    'events',
    'networking',
    'node',
    'policy.networking',
    'rbac.authorization',
    'storage',
  ].map((group) => [`${group}.orch.io`, `${group}.k8s.io`]),
)

export const RBAC_GROUP = 'rbac.authorization.k8s.io'
export const CERTIFICATES_GROUP = 'certificates.k8s.io'

/** The canonical name of a group that has two names; any other group unchanged. */
export function canonicalGroup(group: string): string {
  return CANONICAL.get(group) ?? group
}
