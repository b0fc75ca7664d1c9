import { type SecretClaims, secretPayload } from '../auth/tokens/account-claims.ts'
import { type JsonObject, objectAt } from '../lib/json.ts'
import {
  CA_KEY,
  DEFAULT_ACCOUNT,
  isSubdomain,
  NAMESPACE_KEY,
  TOKEN_KEY,
} from '../resources/names.ts'
import { accountGroup } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import { isEmpty, keyOf, type MetadataObject, type ObjectMeta } from './objects/object-meta.ts'
import type { TokenSecret } from './objects/secret-object.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import type { Patch } from './runner/write.ts'

/**
 * Creates the account `default` in every namespace that is not being deleted, and again when it was deleted. An
 * existing account is left unchanged. A key is the name of a namespace.
 */
export const serviceAccountsController: Controller = {
  name: 'serviceaccounts',
  account: 'service-account-controller',
  watches: {
    namespaces: ({ key }) => [key],
    serviceaccounts: ({ before, after }) => {
      const isLost = before?.meta.name === DEFAULT_ACCOUNT && after === undefined
      return isLost ? [before.meta.namespace] : []
    },
  },
  reconcile,
}

function reconcile(namespace: string, view: View): Reconciliation {
  const isActive = view.namespaces.get(namespace)?.meta.terminating === false
  const account = view.serviceaccounts.get(`${namespace}/${DEFAULT_ACCOUNT}`)
  if (!isActive || account !== undefined) return SETTLED
  const body = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: DEFAULT_ACCOUNT, namespace },
    automountServiceAccountToken: true,
  }
  const name = DEFAULT_ACCOUNT
  return {
    writes: [{ verb: 'create', collection: 'serviceaccounts', namespace, name, body }],
  }
}

/** How long a new Secret may exist without its account, in milliseconds: the two may be created in any order. */
const NEW_SECRET_GRACE_MS = 5_000

/**
 * Fills Secrets for tokens of accounts, and fills them again when part of the content was removed. A Secret
 * whose account is gone is deleted; an account of that name with another uid is another account. Without
 * `contents` the controller does nothing. A key is `namespace/name` of a Secret.
 */
export function createServiceAccountTokensController(
  contents: TokenContents | undefined,
): Controller {
  const identity = { name: 'serviceaccounttokens', account: 'tokens-controller' }
  if (contents === undefined) return { ...identity, watches: {}, reconcile: () => SETTLED }
  return {
    ...identity,
    watches: {
      secrets: ({ key, after }) => (after?.token === undefined ? [] : [key]),
      serviceaccounts: secretsOf,
    },
    reconcile: (key, view, now) => reconcileSecret(key, { view, now, contents }),
  }
}

/** The Secrets of an account that was created, is being deleted, or is gone. */
function secretsOf(
  { key, before, after }: ObjectChange<MetadataObject>,
  view: View,
): readonly string[] {
  const isSame =
    before?.meta.uid === after?.meta.uid && before?.meta.terminating === after?.meta.terminating
  return isSame ? [] : [...view.secrets.group(accountGroup(key))].map(({ meta }) => meta.key)
}

interface Scene {
  readonly view: View
  readonly now: number
  readonly contents: TokenContents
}

function reconcileSecret(key: string, { view, now, contents }: Scene): Reconciliation {
  const { meta, token } = view.secrets.get(key) ?? {}
  if (meta === undefined || token === undefined || meta.terminating) return SETTLED
  const account = view.serviceaccounts.get(keyOf({ ...meta, name: token.accountName }))?.meta
  const isNew = token.accountUid === ''
  if (account !== undefined && (isNew || token.accountUid === account.uid)) {
    if (account.terminating || token.isImmutable) return SETTLED
    return { writes: tokenSecretWrites({ meta, token, account }, contents) }
  }
  const waitMs = isNew ? Date.parse(meta.createdAt) + NEW_SECRET_GRACE_MS - now : 0
  return waitMs > 0 ? { writes: [], againMs: waitMs } : deletion(meta, token)
}

/** The deletion of a Secret. The server must confirm that the account is gone, unless no account can have its name. */
function deletion(meta: ObjectMeta, { accountName, accountUid }: TokenSecret): Reconciliation {
  const account = {
    ...({ collection: 'serviceaccounts', namespace: meta.namespace } as const),
    name: accountName,
    uid: accountUid,
  }
  const absent = isSubdomain(accountName) ? [account] : []
  return { writes: [{ verb: 'delete', collection: 'secrets', meta, absent }] }
}

/** What Secrets for tokens are filled with. */
export interface TokenContents {
  /** Certificates by which the holder of a token verifies the API server, PEM. */
  readonly ca: string
  /** Signs a token with exactly these claims. */
  readonly sign: (payload: JsonObject) => Promise<string>
}

/** A Secret and the account whose token it holds. */
interface AccountSecret {
  readonly meta: ObjectMeta
  readonly token: TokenSecret
  readonly account: ObjectMeta
}

/**
 * The write that fills a Secret, if anything is missing or changed. An existing token is kept. The token is
 * signed when the write is made, so that no reconcile, cache or queue holds one.
 */
function tokenSecretWrites(
  { meta, token, account }: AccountSecret,
  { ca, sign }: TokenContents,
): readonly Patch[] {
  const [certificates, namespace] = [base64(ca), base64(meta.namespace)]
  const data = {
    ...(token.ca === certificates ? {} : { [CA_KEY]: certificates }),
    ...(token.namespace === namespace ? {} : { [NAMESPACE_KEY]: namespace }),
  }
  const body = {
    ...(token.accountUid === account.uid
      ? {}
      : { metadata: { annotations: { [token.uidAnnotation]: account.uid } } }),
    ...(isEmpty(data) ? {} : { data }),
  }
  if (token.isFilled) {
    return isEmpty(body) ? [] : [{ verb: 'patch', collection: 'secrets', meta, body }]
  }
  const claims = { namespace: meta.namespace, account, secretName: meta.name }
  const complete = (part: JsonObject): Promise<JsonObject> => withToken(part, claims, sign)
  return [{ verb: 'patch', collection: 'secrets', meta, body, complete }]
}

async function withToken(
  body: JsonObject,
  claims: SecretClaims,
  sign: TokenContents['sign'],
): Promise<JsonObject> {
  const token = base64(await sign(secretPayload(claims)))
  return { ...body, data: { ...objectAt(body, 'data'), [TOKEN_KEY]: token } }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
