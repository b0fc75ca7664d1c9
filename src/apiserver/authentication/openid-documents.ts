import { toJwk, type VerificationKey } from '../../auth/tokens/signing-key.ts'
import type { HandlerResult } from '../request/api-request.ts'
import { noSuchPath } from '../status/status.ts'

/** Where others find the keys that verify the tokens of this cluster. */
export interface OpenidProvider {
  /** `iss` of the tokens. */
  readonly issuer: string
  /** The address of the keys. */
  readonly jwksUri: string
  readonly keys: () => readonly VerificationKey[]
}

/** By path: the metadata of OpenID Connect Discovery 1.0, and the keys (RFC 7517). */
export const OPENID_PATHS = {
  '/.well-known/openid-configuration': 'configuration',
  '/openid/v1/jwks': 'keys',
} as const

export type OpenidDocument = (typeof OPENID_PATHS)[keyof typeof OPENID_PATHS]

/** The answer to GET of one of these paths, with the current keys; 404 if the server issues no tokens. */
export async function openidReply(
  provider: OpenidProvider | undefined,
  document: OpenidDocument,
): Promise<HandlerResult> {
  if (provider === undefined) return noSuchPath()
  const [contentType, content] =
    document === 'keys'
      ? ['application/jwk-set+json', { keys: await Promise.all(provider.keys().map(toJwk)) }]
      : ['application/json', configurationOf(provider)]
  return { code: 200, contentType, body: [Buffer.from(JSON.stringify(content))] }
}

function configurationOf({ issuer, jwksUri, keys }: OpenidProvider) {
  return {
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(keys().map(({ algorithm }) => algorithm))],
  }
}
