import { type JsonObject, stringAt } from '../../lib/json.ts'
import { BOOTSTRAPPING } from '../../resources/label-names.ts'
import type { ClusterEvidence, EvidenceKind } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { keyOf, labelsOf, namespaceOf } from '../evidence/objects.ts'
import { accountsOf } from './missing-account.ts'

/** A binding that grants nothing, because its role or its account does not exist. */
export const brokenBinding: Check = {
  name: 'broken-binding',
  find: (evidence) =>
    (['rolebindings', 'clusterrolebindings'] as const).flatMap((kind) =>
      evidence
        .all(kind)
        .flatMap((binding) => [
          ...missingRole(kind, binding, evidence),
          ...missingAccounts(kind, binding, evidence),
        ]),
    ),
}

const SINGULAR = { rolebindings: 'rolebinding', clusterrolebindings: 'clusterrolebinding' } as const
type BindingKind = keyof typeof SINGULAR

function missingRole(
  kind: BindingKind,
  binding: JsonObject,
  evidence: ClusterEvidence,
): readonly Finding[] {
  const role = stringAt(binding, 'roleRef', 'name')
  const isCluster = stringAt(binding, 'roleRef', 'kind') === 'ClusterRole'
  const roles: EvidenceKind = isCluster ? 'clusterroles' : 'roles'
  const key = isCluster ? role : `${namespaceOf(binding)}/${role}`
  if (!evidence.has(roles) || evidence.exists(roles, key)) return []
  return [
    {
      ...head(kind, binding),
      cause: `it names the ${isCluster ? 'ClusterRole' : 'Role'} ${key}, which does not exist`,
      evidence: [`accounts that get nothing by it: ${accountsOf(binding).join(', ') || 'none'}`],
      remedy:
        'create the role; the roleRef of a binding cannot be changed, so a wrong name needs a new binding',
      commands: [`orchctl get ${roles}${isCluster ? '' : ` -n ${namespaceOf(binding)}`}`],
    },
  ]
}

function missingAccounts(
  kind: BindingKind,
  binding: JsonObject,
  evidence: ClusterEvidence,
): readonly Finding[] {
  if (!evidence.has('serviceaccounts')) return []
  // Bindings that a server makes itself may be for accounts that are created later, or never.
  if (labelsOf(binding)[BOOTSTRAPPING] !== undefined) return []
  const isMissing = (key: string): boolean => {
    const [namespace = ''] = key.split('/')
    return evidence.covers(namespace) && !evidence.exists('serviceaccounts', key)
  }
  const missing = accountsOf(binding).filter(isMissing)
  if (missing.length === 0 || missing.length < accountsOf(binding).length) return []
  const names = new Set(missing.map((key) => key.split('/')[1]))
  const elsewhere = evidence
    .all('serviceaccounts')
    .map(keyOf)
    .filter((key) => names.has(key.split('/')[1]))
  return [
    {
      ...head(kind, binding),
      cause: `it is for ${missing.join(', ')}, and there is no such ServiceAccount`,
      evidence: elsewhere.slice(0, 3).map((key) => `there is ${key}, in another namespace`),
      remedy: 'correct name and namespace of the subject, or create the account',
      commands: [`orchctl get serviceaccounts -A`],
    },
  ]
}

function head(kind: BindingKind, binding: JsonObject) {
  return {
    check: brokenBinding.name,
    symptom: 'Permission denied',
    object: `${SINGULAR[kind]}/${keyOf(binding)}`,
    affects: accountsOf(binding).map((key) => `serviceaccount/${key}`),
  } as const
}
