import { type SecretClaims, secretPayload } from '../auth/tokens/account-claims.ts'
import { type JsonObject, objectAt } from '../lib/json.ts'
import { CA_KEY, NAMESPACE_KEY, TOKEN_KEY } from '../resources/names.ts'
import type { ObjectMeta } from './objects/object-meta.ts'
import type { TokenSecret } from './objects/secret-object.ts'
import { isEmpty } from './objects/string-map.ts'
import type { Patch } from './runner/write.ts'

/** What Secrets for tokens are filled with. */
export interface TokenContents {
  /** Certificates by which the holder of a token verifies the API server, PEM. */
  readonly ca: string
  /** Signs a token with exactly these claims. */
  readonly sign: (payload: JsonObject) => Promise<string>
}

/** A Secret and the account whose token it holds. */
export interface AccountSecret {
  readonly meta: ObjectMeta
  readonly token: TokenSecret
  readonly account: ObjectMeta
}

/**
 * The write that fills a Secret, if anything is missing or changed. An existing token is kept. The token is
 * signed when the write is made, so that no reconcile, cache or queue holds one.
 */
export function tokenSecretWrites(
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
