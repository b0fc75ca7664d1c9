import type { FieldsOf, PathsUnder } from '../../../settings/field.ts'
import { duration, text } from '../../../settings/scalar-types.ts'
import type { OrchServerConfiguration } from '../configuration.ts'
import { identityTypes } from '../identity-types.ts'

/** The tokens of service accounts; names of flags as kube-apiserver has them. */
export const SERVICE_ACCOUNT_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'serviceAccounts'>
> = {
  'serviceAccounts.issuers': {
    flag: 'service-account-issuer',
    type: identityTypes.issuers,
    fallback: ['https://orch.default.svc'],
    doc: 'What tokens name as their issuer. The first one is in new tokens; tokens of the others are accepted still, so that it can be changed.',
    reload: 'restart',
  },
  'serviceAccounts.audiences': {
    flag: 'api-audiences',
    type: identityTypes.texts,
    fallback: [],
    doc: 'What a token must be for to be accepted here, one of them. Empty: the issuers.',
    reload: 'restart',
  },
  'serviceAccounts.signingKeyFile': {
    flag: 'service-account-signing-key-file',
    type: text(),
    fallback: '',
    doc: 'Private keys in PEM (ECDSA on P-256, or RSA), of which the first signs and all are accepted. A changed file is taken over while running: put a new key first, and remove the old one when its last token has ended. Servers of one etcd need the same file. Empty: pki/sa.key in the data directory, which is made.',
    reload: 'restart',
  },
  'serviceAccounts.keyFiles': {
    flag: 'service-account-key-file',
    type: identityTypes.texts,
    fallback: [],
    doc: 'Files of further public or private keys in PEM whose tokens are accepted, such as those of another cluster’s servers. Changed files are taken over while running.',
    reload: 'restart',
  },
  'serviceAccounts.maxTokenExpiration': {
    flag: 'service-account-max-token-expiration',
    type: duration(),
    fallback: 0,
    doc: 'The longest life of a token that a client requests, at least 1h; a longer one is shortened. 0: no limit.',
    reload: 'restart',
  },
  'serviceAccounts.jwksURI': {
    flag: 'service-account-jwks-uri',
    type: identityTypes.httpsOrEmpty,
    fallback: '',
    doc: 'Where others read the keys, as the discovery document names it. Empty: /openid/v1/jwks below the first issuer.',
    reload: 'restart',
  },
}
