import { isJsonObject, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { accountUserName, parseAccountUserName } from '../service-account-name.ts'

/** Identifies an object, also by uid, because a later object may have the same name. */
export interface ObjectIdentity {
  readonly name: string
  readonly uid: string
}

/** The kinds that a token can be bound to; it ends with that object. */
export type BoundKind = 'pod' | 'secret' | 'node'

export interface BoundObject extends ObjectIdentity {
  readonly kind: BoundKind
}

/** What a token says of the account that it was issued to. */
export interface AccountClaims {
  readonly namespace: string
  readonly account: ObjectIdentity
  readonly bound?: BoundObject
}

/** `iss` of the tokens in Secrets, which Kubernetes fixed before issuers were URLs. */
export const SECRET_ISSUER = 'kubernetes/serviceaccount'

export const BOUND_KINDS: readonly BoundKind[] = ['pod', 'secret', 'node']

/** The private claims of a token, under the names that Kubernetes gives them. */
export function accountPayload(claims: AccountClaims): JsonObject {
  const { namespace, account, bound } = claims
  return {
    sub: accountUserName({ namespace, name: account.name }),
    'kubernetes.io': {
      namespace,
      serviceaccount: { name: account.name, uid: account.uid },
      ...(bound && { [bound.kind]: { name: bound.name, uid: bound.uid } }),
    },
  }
}

/** The claims of a payload whose signature was verified; undefined: it names no account. */
export function readAccountClaims(payload: JsonObject): AccountClaims | undefined {
  const claims = valueAt(payload, 'kubernetes.io')
  if (!isJsonObject(claims)) return undefined
  const account = readIdentity(claims['serviceaccount'])
  const subject = parseAccountUserName(stringAt(payload, 'sub'))
  const namespace = stringAt(claims, 'namespace')
  if (account === undefined || subject === undefined || namespace === '') return undefined
  if (subject.namespace !== namespace || subject.name !== account.name) return undefined
  const kinds = BOUND_KINDS.filter((kind) => claims[kind] !== undefined)
  const [kind] = kinds
  if (kind === undefined) return { namespace, account }
  // A Pod's token names the Pod's Node, too: it is bound to the Pod.
  const identity = readIdentity(claims[kind])
  return identity && { namespace, account, bound: { kind, ...identity } }
}

/** The claims of a token that is stored in a Secret. It is accepted while the Secret holds it. */
export interface SecretClaims extends AccountClaims {
  readonly secretName: string
}

const SECRET_CLAIM = 'kubernetes.io/serviceaccount/'

/** The whole payload of a token that is stored in a Secret: without an expiry and without an audience. */
export function secretPayload({ namespace, account, secretName }: SecretClaims): JsonObject {
  return {
    iss: SECRET_ISSUER,
    sub: accountUserName({ namespace, name: account.name }),
    [`${SECRET_CLAIM}namespace`]: namespace,
    [`${SECRET_CLAIM}secret.name`]: secretName,
    [`${SECRET_CLAIM}service-account.name`]: account.name,
    [`${SECRET_CLAIM}service-account.uid`]: account.uid,
  }
}

/** Reads the claims of tokens that are stored in Secrets, a format older than bound tokens. */
export function readSecretClaims(payload: JsonObject): SecretClaims | undefined {
  const claim = (name: string): string => stringAt(payload, `${SECRET_CLAIM}${name}`)
  const namespace = claim('namespace')
  const account = { name: claim('service-account.name'), uid: claim('service-account.uid') }
  const secretName = claim('secret.name')
  const subject = accountUserName({ namespace, name: account.name })
  if (stringAt(payload, 'sub') !== subject || secretName === '' || account.uid === '')
    return undefined
  return parseAccountUserName(subject) && { namespace, account, secretName }
}

function readIdentity(value: Json | undefined): ObjectIdentity | undefined {
  const [name, uid] = [stringAt(value, 'name'), stringAt(value, 'uid')]
  return name === '' || uid === '' ? undefined : { name, uid }
}
