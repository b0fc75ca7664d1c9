import { addressConflict } from './checks/address-conflict.ts'
import { apiToken } from './checks/api-token.ts'
import { brokenBinding } from './checks/broken-binding.ts'
import { clusterDns } from './checks/cluster-dns.ts'
import { endpointsMissing } from './checks/endpoints-missing.ts'
import { externalName } from './checks/external-name.ts'
import { imagePull } from './checks/image-pull.ts'
import { loadBalancerPending } from './checks/load-balancer-pending.ts'
import { localPolicy } from './checks/local-policy.ts'
import { missingAccount } from './checks/missing-account.ts'
import { networkPolicy } from './checks/network-policy.ts'
import { podDns } from './checks/pod-dns.ts'
import { podsNotReady } from './checks/pods-not-ready.ts'
import { scaledToZero } from './checks/scaled-to-zero.ts'
import { selectorMatchesNothing } from './checks/selector-matches-nothing.ts'
import { sessionAffinity } from './checks/session-affinity.ts'
import { sourceRanges } from './checks/source-ranges.ts'
import { targetPort } from './checks/target-port.ts'
import { tokenSecret } from './checks/token-secret.ts'
import type { Check } from './evidence/finding.ts'

/**
 * Every check, in the order in which findings are shown: first what stops the whole cluster or all Pods of an account,
 * then what stops a Service for all its clients, then for some of them; last what may be intended.
 */
export const CHECKS: readonly Check[] = [
  clusterDns,
  missingAccount,
  imagePull,
  scaledToZero,
  selectorMatchesNothing,
  podsNotReady,
  targetPort,
  endpointsMissing,
  externalName,
  networkPolicy,
  addressConflict,
  loadBalancerPending,
  sourceRanges,
  localPolicy,
  tokenSecret,
  apiToken,
  brokenBinding,
  podDns,
  sessionAffinity,
]
