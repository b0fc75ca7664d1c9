import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { NAMES, TOKEN_KEY, TOKEN_SECRET_TYPES } from '../../resources/names.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { templatePod, workloadName, workloads } from '../evidence/cluster-evidence.ts'
import { type Check, type Finding, SHOWN } from '../evidence/finding.ts'
import { accountOf } from '../evidence/inspected-object.ts'
import { keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/**
 * A Pod or a token Secret that names a ServiceAccount which does not exist; or a workload whose Pods would have such an
 * account, so that the API server refuses to create them.
 */
export const missingAccount: Check = {
  name: 'missing-account',
  find: (evidence) => {
    if (!evidence.has('serviceaccounts')) return []
    return [...users(evidence), ...tokenSecrets(evidence)]
  },
}

interface User {
  readonly account: string
  /** `pod/shop/web-1` */
  readonly object: string
  readonly isPod: boolean
}

function users(evidence: ClusterEvidence): readonly Finding[] {
  const named: readonly User[] = [
    ...evidence.all('pods').map((pod) => {
      return { account: accountOf(pod), object: `pod/${keyOf(pod)}`, isPod: true }
    }),
    ...workloads(evidence).map((one) => {
      return { account: accountOf(templatePod(one)), object: workloadName(one), isPod: false }
    }),
  ]
  const missing = named.filter(({ account }) => !evidence.exists('serviceaccounts', account))
  const byAccount = Map.groupBy(missing, ({ account }) => account)
  return [...byAccount].map(([account, all]) => ({
    check: missingAccount.name,
    symptom: 'Token does not exist',
    object: `serviceaccount/${account}`,
    affects: all.map(({ object }) => object),
    cause: `the ServiceAccount ${account} does not exist`,
    evidence: usersText(all),
    remedy: all.some(({ isPod }) => isPod)
      ? 'create the ServiceAccount, then replace its Pods: their tokens are those of an account that is gone'
      : 'create the ServiceAccount, or correct serviceAccountName of the template',
    commands: [createCommand(account)],
  }))
}

function usersText(all: readonly User[]): readonly string[] {
  const pods = all.filter(({ isPod }) => isPod)
  const shown = (object: string): string => object.replace(/\/.*\//, '/')
  const makers = all.filter(({ isPod }) => !isPod).slice(0, SHOWN)
  return [
    ...pods
      .slice(0, 1)
      .map(({ object }) => `${pods.length} Pods run as it, the first is ${shown(object)}`),
    ...makers.map(({ object }) => `${shown(object)} cannot create Pods: they would run as it`),
  ]
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

/** A Secret for the token of an existing account that has no token, or that of a deleted account of the same name. */
export const tokenSecret: Check = {
  name: 'token-secret',
  find: (evidence) => {
    if (!evidence.has('secrets', 'serviceaccounts')) return []
    return evidence
      .all('secrets')
      .filter((secret) => TOKEN_SECRET_TYPES.includes(stringAt(secret, 'type')))
      .flatMap((secret) => ofTokenSecret(secret, evidence))
  },
}

/** The account that a token Secret names: `namespace/name`. */
function accountOfSecret(secret: JsonObject): string {
  return `${namespaceOf(secret)}/${annotation(secret, NAMES.serviceAccount)}`
}

function annotation(object: JsonObject, keys: readonly string[]): string {
  const found = keys.map((key) => stringAt(object, 'metadata', 'annotations', key))
  return found.find((text) => text !== '') ?? ''
}

function ofTokenSecret(secret: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
  const account = evidence.find('serviceaccounts', accountOfSecret(secret))
  // The check missing-account reports an account that does not exist.
  if (account === undefined) return []
  const uid = annotation(secret, NAMES.serviceAccountUid)
  const isOfOther = uid !== '' && uid !== stringAt(account, 'metadata', 'uid')
  if (!isOfOther && valueAt(secret, 'data', TOKEN_KEY) !== undefined) return []
  const isFixed = valueAt(secret, 'immutable') === true
  const namespace = namespaceOf(secret)
  return [
    {
      check: tokenSecret.name,
      symptom: 'Token does not exist',
      object: `secret/${keyOf(secret)}`,
      affects: [`serviceaccount/${keyOf(account)}`],
      cause: isOfOther
        ? `its token is of an account ${nameOf(account)} that was deleted; the present one has another uid`
        : 'it is for a token, and has none',
      evidence: [
        isOfOther ? `it is for the uid ${uid}` : `its data has no key ${TOKEN_KEY}`,
        ...(isFixed ? ['it is immutable: the controller cannot write the token'] : []),
      ],
      remedy: isFixed
        ? 'create it again without immutable'
        : 'check that the controller of tokens runs (its log and metrics), then create the Secret again',
      commands: [
        `orchctl -n ${namespace} delete secret ${nameOf(secret)}`,
        `orchctl -n ${namespace} create token ${nameOf(account)}`,
      ],
    },
  ]
}
