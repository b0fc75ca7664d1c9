import { rangeProblem } from '../../apiserver/allocation/address-range.ts'
import type { Rule } from '../../settings/table.ts'
import type { OrchServerConfiguration } from './configuration.ts'
import { isRotationSet } from './limit-fields.ts'

/** The rule that `isMet` holds; `conflict`: what the operator reads if it does not. */
function demand(
  isMet: (config: OrchServerConfiguration) => boolean,
  conflict: NonNullable<ReturnType<Rule<OrchServerConfiguration>>>,
): Rule<OrchServerConfiguration> {
  return (config) => (isMet(config) ? undefined : conflict)
}

/**
 * Settings of the audit log that contradict each other. A policy without an output, or an output without a
 * policy, records nothing, which would be noticed only when a record is needed. So both are refused.
 */
const AUDIT_RULES: readonly Rule<OrchServerConfiguration>[] = [
  demand(({ audit }) => audit.policyFile === '' || audit.logPath + audit.webhookConfigFile !== '', {
    paths: ['audit.policyFile'],
    message:
      'a policy without an output records nothing; set --audit-log-path or --audit-webhook-config-file',
  }),

  demand(({ audit }) => audit.policyFile !== '' || audit.logPath + audit.webhookConfigFile === '', {
    paths: ['audit.logPath', 'audit.webhookConfigFile'],
    message: 'without a policy nothing is recorded; set --audit-policy-file',
  }),

  demand(({ audit }) => !['', '-'].includes(audit.logPath) || !isRotationSet(audit), {
    paths: ['audit.logMaxMegabytes', 'audit.logMaxBackups', 'audit.logMaxAgeDays'],
    message: 'only a file is rotated; set --audit-log-path to its path',
  }),
]

const MIN_TOKEN_LIFE_MS = 3_600_000

/** Rules about several fields. */
export const RULES: readonly Rule<OrchServerConfiguration>[] = [
  demand(({ tls }) => (tls.certFile === '') === (tls.keyFile === ''), {
    paths: ['tls.certFile', 'tls.keyFile'],
    message: 'a certificate and its key go together; set tls.certFile and tls.keyFile',
  }),

  demand(({ tls }) => tls.certFile === '' || tls.extraNames.length === 0, {
    paths: ['tls.extraNames', 'tls.certFile'],
    message: 'these names are for a certificate that the server makes; tls.certFile has its own',
  }),

  demand(({ kubelet }) => (kubelet.clientCertFile === '') === (kubelet.clientKeyFile === ''), {
    paths: ['kubelet.clientCertFile', 'kubelet.clientKeyFile'],
    message:
      'a certificate and its key go together; set kubelet.clientCertFile and kubelet.clientKeyFile',
  }),

  demand(({ kubelet }) => kubelet.preferredAddressTypes.length > 0, {
    paths: ['kubelet.preferredAddressTypes'],
    message: 'without a type no kubelet is reached; write one, such as InternalIP',
  }),

  demand(({ authentication: { oidc } }) => (oidc.issuerURL === '') === (oidc.clientID === ''), {
    paths: ['authentication.oidc.issuerURL', 'authentication.oidc.clientID'],
    message:
      'a provider needs the client ID that its tokens are for; set authentication.oidc.issuerURL and authentication.oidc.clientID',
  }),

  demand(
    ({ serviceAccounts: { maxTokenExpiration: life } }) => life === 0 || life >= MIN_TOKEN_LIFE_MS,
    {
      paths: ['serviceAccounts.maxTokenExpiration'],
      message: 'tokens of Pods are requested for an hour; write at least 1h, or 0 for no limit',
    },
  ),

  demand(({ serviceAccounts: { issuers } }) => issuers.length > 0, {
    paths: ['serviceAccounts.issuers'],
    message: 'tokens need an issuer; write one, such as https://orch.default.svc',
  }),

  demand(({ etcd }) => (etcd.certFile === '') === (etcd.keyFile === ''), {
    paths: ['etcd.certFile', 'etcd.keyFile'],
    message: 'a certificate and its key go together; set etcd.certFile and etcd.keyFile',
  }),

  demand(({ etcd }) => etcd.servers.length > 0 || etcd.caFile + etcd.certFile === '', {
    paths: ['etcd.caFile', 'etcd.certFile', 'etcd.servers'],
    message: 'without etcd.servers the store is embedded and needs no certificate; set them',
  }),

  demand(
    ({ etcd }) =>
      etcd.caFile + etcd.certFile === '' ||
      etcd.servers.length === 0 ||
      etcd.servers.some((url) => !url.startsWith('http://')),
    {
      paths: ['etcd.servers', 'etcd.caFile', 'etcd.certFile'],
      message: 'http:// does not use TLS, so certificates have no effect; write https://',
    },
  ),

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
