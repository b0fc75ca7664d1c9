import { DEFAULT_ANONYMOUS_PATHS } from '../../apiserver/authentication/identity-options.ts'
import type { FieldsOf, PathsUnder } from '../../settings/field.ts'
import { duration } from '../../settings/scalar-types.ts'
import type { OrchServerConfiguration } from './configuration.ts'
import { identityTypes, optionalText } from './field-types.ts'

/** The settings of authentication. The flags, except `anonymous-paths`, are named as in kube-apiserver. */
export const AUTHENTICATION_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'authentication'>
> = {
  'authentication.anonymousPaths': {
    flag: 'anonymous-paths',
    type: identityTypes.urlPaths,
    fallback: DEFAULT_ANONYMOUS_PATHS,
    doc: 'Paths that need no credentials, including all paths below them. Every other request without credentials is refused. Add /.well-known/openid-configuration and /openid/v1/jwks if other systems verify tokens of this cluster. Empty: no path.',
  },
  'authentication.clientCAFile': optionalText(
    'client-ca-file',
    'PEM file with further certificate authorities whose client certificates are accepted: CN is the user, each O a group. The authority in the data directory is always accepted. A changed file is reloaded without a restart.',
  ),
  'authentication.tokenFile': optionalText(
    'token-auth-file',
    'File with lines token,user,uid,"group1,group2": users whose tokens never expire. A changed file is reloaded without a restart. For people, use certificates or OpenID Connect.',
  ),
  'authentication.oidc.issuerURL': {
    flag: 'oidc-issuer-url',
    type: identityTypes.httpsOrEmpty,
    fallback: '',
    doc: 'URL of the OpenID Connect provider whose ID tokens are accepted; their claim iss must equal it exactly. Empty: no provider.',
  },
  'authentication.oidc.clientID': optionalText(
    'oidc-client-id',
    'The client ID that the claim aud of ID tokens must contain.',
  ),
  'authentication.oidc.caFile': optionalText(
    'oidc-ca-file',
    "PEM file with the certificate authorities that verify the provider's certificate. Empty: those of the system.",
  ),
  'authentication.oidc.usernameClaim': {
    flag: 'oidc-username-claim',
    type: identityTypes.claim,
    fallback: 'sub',
    doc: 'The claim that contains the name of the user.',
  },
  'authentication.oidc.usernamePrefix': optionalText(
    'oidc-username-prefix',
    'Prefix of user names. Empty: the issuer and #, or no prefix if the claim is email. -: no prefix. Names that begin with system: are refused.',
  ),
  'authentication.oidc.groupsClaim': optionalText(
    'oidc-groups-claim',
    'The claim with the groups of the user: a string or a list of strings. Empty: the provider assigns no groups.',
  ),
  'authentication.oidc.groupsPrefix': optionalText(
    'oidc-groups-prefix',
    'Prefix of each group name.',
  ),
}

/** The tokens of service accounts; names of flags as kube-apiserver has them. */
export const SERVICE_ACCOUNT_FIELDS: FieldsOf<
  OrchServerConfiguration,
  PathsUnder<OrchServerConfiguration, 'serviceAccounts'>
> = {
  'serviceAccounts.issuers': {
    flag: 'service-account-issuer',
    type: identityTypes.issuers,
    fallback: ['https://orch.default.svc'],
    doc: 'Issuers of tokens, https URLs. New tokens name the first one. Tokens of the others are accepted, too, so that the issuer can be changed.',
  },
  'serviceAccounts.audiences': {
    flag: 'api-audiences',
    type: identityTypes.texts,
    fallback: [],
    doc: 'Audiences of this server. A token is accepted if it names one of them. Empty: the issuers.',
  },
  'serviceAccounts.signingKeyFile': optionalText(
    'service-account-signing-key-file',
    'Private keys in PEM (ECDSA on P-256, or RSA), of which the first signs and all are accepted. A changed file is reloaded without a restart: put a new key first, and remove the old one when its last token has expired. Servers of one etcd need the same file. Empty: pki/sa.key in the data directory, which the server creates.',
  ),
  'serviceAccounts.keyFiles': {
    flag: 'service-account-key-file',
    type: identityTypes.texts,
    fallback: [],
    doc: 'Files of further public or private keys in PEM whose tokens are accepted, such as those of another cluster’s servers. Changed files are reloaded without a restart.',
  },
  'serviceAccounts.maxTokenExpiration': {
    flag: 'service-account-max-token-expiration',
    type: duration(),
    fallback: 0,
    doc: 'The longest life of a token that a client requests, at least 1h; a longer one is shortened. 0: no limit.',
  },
  'serviceAccounts.jwksURI': {
    flag: 'service-account-jwks-uri',
    type: identityTypes.httpsOrEmpty,
    fallback: '',
    doc: 'Where others read the keys, as the discovery document names it. Empty: /openid/v1/jwks below the first issuer.',
  },
}
