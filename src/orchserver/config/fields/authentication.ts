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
    doc: 'Paths, with those below them, that need no credentials. Every other request without credentials is refused. Add /.well-known/openid-configuration and /openid/v1/jwks where others verify tokens of this cluster. Empty: none.',
    reload: 'restart',
  },
  'authentication.clientCAFile': {
    flag: 'client-ca-file',
    type: text(),
    fallback: '',
    doc: 'More certificate authorities, PEM, whose client certificates are accepted: CN is the user, each O a group. The authority in the data directory is accepted always. A changed file is taken over while running.',
    reload: 'restart',
  },
  'authentication.tokenFile': {
    flag: 'token-auth-file',
    type: text(),
    fallback: '',
    doc: 'Lines of token,user,uid,"group1,group2": users whose tokens never expire. A changed file is taken over while running. Certificates and OpenID Connect are better for people.',
    reload: 'restart',
  },
  'authentication.oidc.issuerURL': {
    flag: 'oidc-issuer-url',
    type: identityTypes.httpsOrEmpty,
    fallback: '',
    doc: 'Provider of OpenID Connect whose ID tokens are accepted: exactly what they name as iss. Empty: none.',
    reload: 'restart',
  },
  'authentication.oidc.clientID': {
    flag: 'oidc-client-id',
    type: text(),
    fallback: '',
    doc: 'What ID tokens must be for (aud).',
    reload: 'restart',
  },
  'authentication.oidc.caFile': {
    flag: 'oidc-ca-file',
    type: text(),
    fallback: '',
    doc: 'Certificate authorities that the provider is trusted by, PEM. Empty: those of the system.',
    reload: 'restart',
  },
  'authentication.oidc.usernameClaim': {
    flag: 'oidc-username-claim',
    type: identityTypes.claim,
    fallback: 'sub',
    doc: 'The claim that is the name of the user.',
    reload: 'restart',
  },
  'authentication.oidc.usernamePrefix': {
    flag: 'oidc-username-prefix',
    type: text(),
    fallback: '',
    doc: 'What stands before each name. Empty: the issuer and #, or nothing where the claim is email. -: nothing. Names that begin with system: are refused.',
    reload: 'restart',
  },
  'authentication.oidc.groupsClaim': {
    flag: 'oidc-groups-claim',
    type: text(),
    fallback: '',
    doc: 'The claim with the groups of the user, a text or a list of them. Empty: users have no groups of the provider.',
    reload: 'restart',
  },
  'authentication.oidc.groupsPrefix': {
    flag: 'oidc-groups-prefix',
    type: text(),
    fallback: '',
    doc: 'What stands before each group.',
    reload: 'restart',
  },
}
