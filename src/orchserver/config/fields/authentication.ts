import { DEFAULT_ANONYMOUS_PATHS } from '../../../apiserver/authentication/identity-options.ts'
import type { FieldsOf, PathsUnder } from '../../../settings/field.ts'
import { text } from '../../../settings/scalar-types.ts'
import type { OrchServerConfiguration } from '../configuration.ts'
import { identityTypes } from '../identity-types.ts'

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
    reload: 'restart',
  },
  'authentication.clientCAFile': {
    flag: 'client-ca-file',
    type: text(),
    fallback: '',
    doc: 'PEM file with further certificate authorities whose client certificates are accepted: CN is the user, each O a group. The authority in the data directory is always accepted. A changed file is reloaded without a restart.',
    reload: 'restart',
  },
  'authentication.tokenFile': {
    flag: 'token-auth-file',
    type: text(),
    fallback: '',
    doc: 'File with lines token,user,uid,"group1,group2": users whose tokens never expire. A changed file is reloaded without a restart. For people, use certificates or OpenID Connect.',
    reload: 'restart',
  },
  'authentication.oidc.issuerURL': {
    flag: 'oidc-issuer-url',
    type: identityTypes.httpsOrEmpty,
    fallback: '',
    doc: 'URL of the OpenID Connect provider whose ID tokens are accepted; their claim iss must equal it exactly. Empty: no provider.',
    reload: 'restart',
  },
  'authentication.oidc.clientID': {
    flag: 'oidc-client-id',
    type: text(),
    fallback: '',
    doc: 'The client ID that the claim aud of ID tokens must contain.',
    reload: 'restart',
  },
  'authentication.oidc.caFile': {
    flag: 'oidc-ca-file',
    type: text(),
    fallback: '',
    doc: "PEM file with the certificate authorities that verify the provider's certificate. Empty: those of the system.",
    reload: 'restart',
  },
  'authentication.oidc.usernameClaim': {
    flag: 'oidc-username-claim',
    type: identityTypes.claim,
    fallback: 'sub',
    doc: 'The claim that contains the name of the user.',
    reload: 'restart',
  },
  'authentication.oidc.usernamePrefix': {
    flag: 'oidc-username-prefix',
    type: text(),
    fallback: '',
    doc: 'Prefix of user names. Empty: the issuer and #, or no prefix if the claim is email. -: no prefix. Names that begin with system: are refused.',
    reload: 'restart',
  },
  'authentication.oidc.groupsClaim': {
    flag: 'oidc-groups-claim',
    type: text(),
    fallback: '',
    doc: 'The claim with the groups of the user: a string or a list of strings. Empty: the provider assigns no groups.',
    reload: 'restart',
  },
  'authentication.oidc.groupsPrefix': {
    flag: 'oidc-groups-prefix',
    type: text(),
    fallback: '',
    doc: 'Prefix of each group name.',
    reload: 'restart',
  },
}
