import { rangeProblem } from '../../apiserver/kinds/service/allocation/range-problem.ts'
import type { Rule } from '../../settings/rules.ts'
import { AUDIT_RULES } from './audit-rules.ts'
import type { OrchServerConfiguration } from './configuration.ts'

const LEAST_TOKEN_LIFE_MS = 3_600_000

/** What no field can see alone. */
export const RULES: readonly Rule<OrchServerConfiguration>[] = [
  ({ tls }) =>
    (tls.certFile === '') === (tls.keyFile === '')
      ? undefined
      : {
          paths: ['tls.certFile', 'tls.keyFile'],
          message: 'a certificate and its key go together; set tls.certFile and tls.keyFile',
        },

  ({ tls }) =>
    tls.certFile === '' || tls.extraNames.length === 0
      ? undefined
      : {
          paths: ['tls.extraNames', 'tls.certFile'],
          message: 'names are for the certificate that is made; tls.certFile has its own',
        },

  ({ authentication: { oidc } }) =>
    (oidc.issuerURL === '') === (oidc.clientID === '')
      ? undefined
      : {
          paths: ['authentication.oidc.issuerURL', 'authentication.oidc.clientID'],
          message:
            'a provider and what its tokens must be for go together; set authentication.oidc.issuerURL and authentication.oidc.clientID',
        },

  ({ serviceAccounts: { maxTokenExpiration: life } }) =>
    life === 0 || life >= LEAST_TOKEN_LIFE_MS
      ? undefined
      : {
          paths: ['serviceAccounts.maxTokenExpiration'],
          message: 'tokens of Pods are requested for an hour; write at least 1h, or 0 for no limit',
        },

  ({ serviceAccounts: { issuers } }) =>
    issuers.length > 0
      ? undefined
      : {
          paths: ['serviceAccounts.issuers'],
          message: 'tokens need an issuer; write one, such as https://orch.default.svc',
        },

  ({ etcd }) =>
    (etcd.certFile === '') === (etcd.keyFile === '')
      ? undefined
      : {
          paths: ['etcd.certFile', 'etcd.keyFile'],
          message: 'a certificate and its key go together; set etcd.certFile and etcd.keyFile',
        },

  ({ etcd }) =>
    etcd.servers.length > 0 || etcd.caFile + etcd.certFile === ''
      ? undefined
      : {
          paths: ['etcd.caFile', 'etcd.certFile', 'etcd.servers'],
          message: 'without etcd.servers the store is embedded and needs no certificate; set them',
        },

  ({ etcd }) =>
    etcd.caFile + etcd.certFile === '' ||
    etcd.servers.length === 0 ||
    etcd.servers.some((url) => !url.startsWith('http://'))
      ? undefined
      : {
          paths: ['etcd.servers', 'etcd.caFile', 'etcd.certFile'],
          message: 'http:// goes without TLS, which certificates are for; write https://',
        },

  ({ services }) => {
    const problem = services.clusterIPRange.flatMap((cidr) => rangeProblem(cidr) ?? [])[0]
    return problem === undefined
      ? undefined
      : { paths: ['services.clusterIPRange'], message: problem }
  },

  ...AUDIT_RULES,
]
