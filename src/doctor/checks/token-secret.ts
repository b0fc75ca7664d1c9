import { type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { NAMES, TOKEN_KEY, TOKEN_SECRET_TYPES } from '../../resources/names.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/** A Secret for the token of an existing account that has no token, or that of a deleted account of the same name. */
export const tokenSecret: Check = {
  name: 'token-secret',
  find: (evidence) => {
    if (!evidence.has('secrets', 'serviceaccounts')) return []
    return evidence
      .all('secrets')
      .filter((secret) => TOKEN_SECRET_TYPES.includes(stringAt(secret, 'type')))
      .flatMap((secret) => findingOf(secret, evidence))
  },
}

/** The account that a token Secret names: `namespace/name`. */
export function accountOfSecret(secret: JsonObject): string {
  return `${namespaceOf(secret)}/${annotation(secret, NAMES.serviceAccount)}`
}

function annotation(object: JsonObject, keys: readonly string[]): string {
  const found = keys.map((key) => stringAt(object, 'metadata', 'annotations', key))
  return found.find((text) => text !== '') ?? ''
}

function findingOf(secret: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
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
