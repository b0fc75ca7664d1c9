import { brokenBinding } from './checks/broken-binding.ts'
import { clusterDns } from './checks/cluster-dns.ts'
import { endpointsMissing } from './checks/endpoints-missing.ts'
import { imagePull } from './checks/image-pull.ts'
import { missingAccount } from './checks/missing-account.ts'
import { podsNotReady } from './checks/pods-not-ready.ts'
import { selectorMatchesNothing } from './checks/selector-matches-nothing.ts'
import { targetPort } from './checks/target-port.ts'
import type { Check } from './evidence/finding.ts'

/** Every check, the most far-reaching causes first: in this order findings are shown. */
export const CHECKS: readonly Check[] = [
  clusterDns,
  missingAccount,
  imagePull,
  selectorMatchesNothing,
  podsNotReady,
  targetPort,
  endpointsMissing,
  brokenBinding,
]
