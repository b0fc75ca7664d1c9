import { rangeProblem } from '../../apiserver/allocation/address-range.ts'
import type { Rule } from '../../settings/table.ts'
import type { OrchServerConfiguration } from './configuration.ts'
import { isRotationSet } from './limit-fields.ts'

/**
 * Settings of the audit log that contradict each other. A policy without an output, or an output without a
 * policy, records nothing, which would be noticed only when a record is needed. So both are refused.
 */
const AUDIT_RULES: readonly Rule<OrchServerConfiguration>[] = [
  ({ audit }) =>
    audit.policyFile === '' || audit.logPath + audit.webhookConfigFile !== ''
      ? undefined
      : {
          paths: ['audit.policyFile'],
          message:
            'a policy without an output records nothing; set --audit-log-path or --audit-webhook-config-file',
        },

  ({ audit }) =>
    audit.policyFile !== '' || audit.logPath + audit.webhookConfigFile === ''
      ? undefined
      : {
          paths: ['audit.logPath', 'audit.webhookConfigFile'],
          message: 'without a policy nothing is recorded; set --audit-policy-file',
        },

  ({ audit }) =>
    !['', '-'].includes(audit.logPath) || !isRotationSet(audit)
      ? undefined
      : {
          paths: ['audit.logMaxMegabytes', 'audit.logMaxBackups', 'audit.logMaxAgeDays'],
          message: 'only a file is rotated; set --audit-log-path to its path',
        },
]

const MIN_TOKEN_LIFE_MS = 3_600_000

/** Rules about several fields. */
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

  ({ kubelet }) =>
    (kubelet.clientCertFile === '') === (kubelet.clientKeyFile === '')
      ? undefined
      : {
          paths: ['kubelet.clientCertFile', 'kubelet.clientKeyFile'],
          message:
            'a certificate and its key go together; set kubelet.clientCertFile and kubelet.clientKeyFile',
        },

  ({ kubelet }) =>
    kubelet.preferredAddressTypes.length > 0
      ? undefined
      : {
          paths: ['kubelet.preferredAddressTypes'],
          message: 'without a type no kubelet is reached; write one, such as InternalIP',
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
    life === 0 || life >= MIN_TOKEN_LIFE_MS
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

/**
 * Whether `--controllers` selects a controller: by its name, or by `*` unless
 * `-name` takes it out.
 */
export function isSelected(name: string, selection: readonly string[]): boolean {
  if (selection.includes(`-${name}`)) return false
  return selection.includes(name) || selection.includes('*')
}
