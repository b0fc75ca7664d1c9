import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { TOKEN_SECRET_TYPES } from '../../resources/names.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { accountOf } from '../evidence/inspected-object.ts'
import { keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'
import { accountOfSecret } from './token-secret.ts'

/** A Pod, a token Secret or a binding that names a ServiceAccount which is not there. */
export const missingAccount: Check = {
  name: 'missing-account',
  find: (evidence) => {
    if (!evidence.has('serviceaccounts')) return []
    return [...pods(evidence), ...tokenSecrets(evidence)]
  },
}

function pods(evidence: ClusterEvidence): readonly Finding[] {
  const named = evidence.all('pods').map((pod) => ({
    pod,
    account: accountOf(pod),
  }))
  const missing = named.filter(({ account }) => !evidence.exists('serviceaccounts', account))
  const byAccount = Map.groupBy(missing, ({ account }) => account)
  return [...byAccount].map(([account, users]) => ({
    check: missingAccount.name,
    symptom: 'Token does not exist',
    object: `serviceaccount/${account}`,
    affects: users.map(({ pod }) => `pod/${keyOf(pod)}`),
    cause: `the ServiceAccount ${account} does not exist`,
    evidence: [`${users.length} Pods run as it, the first is pod/${nameOf(users[0]!.pod)}`],
    remedy:
      'create the ServiceAccount, then replace its Pods: their tokens are those of an account that is gone',
    commands: [createCommand(account)],
  }))
}

function tokenSecrets(evidence: ClusterEvidence): readonly Finding[] {
  return evidence.all('secrets').flatMap((secret): Finding[] => {
    if (!TOKEN_SECRET_TYPES.includes(stringAt(secret, 'type'))) return []
    const account = accountOfSecret(secret)
    if (evidence.exists('serviceaccounts', account)) return []
    return [
      {
        check: missingAccount.name,
        symptom: 'Token does not exist',
        object: `secret/${keyOf(secret)}`,
        affects: [],
        cause: `the Secret is for a token of ${account}, which does not exist`,
        evidence: ['its annotation service-account.name names that account'],
        remedy: 'create the ServiceAccount, or correct the annotation',
        commands: [createCommand(account)],
      },
    ]
  })
}

function createCommand(account: string): string {
  const [namespace, name] = account.split('/')
  return `orchctl -n ${namespace} create serviceaccount ${name}`
}

/** The accounts that a binding names. */
export function accountsOf(binding: JsonObject): readonly string[] {
  return arrayAt(binding, 'subjects')
    .filter((subject) => stringAt(subject, 'kind') === 'ServiceAccount')
    .map((subject) => {
      const namespace = stringAt(subject, 'namespace') || namespaceOf(binding)
      return `${namespace}/${stringAt(subject, 'name')}`
    })
}
