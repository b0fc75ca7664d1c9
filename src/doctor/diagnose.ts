import { clusterDns } from './checks/cluster-dns.ts'
import { CHECKS } from './checks.ts'
import type { ClusterEvidence } from './evidence/cluster-evidence.ts'
import type { Finding } from './evidence/finding.ts'
import { concernedBy, type InspectedObject } from './evidence/inspected-object.ts'

/**
 * What is wrong in a cluster, in the order of `CHECKS`. With an object: only what concerns it or what it needs, of a Service
 * its Pods, of a Pod its account, of both the DNS of the cluster.
 */
export function diagnose(
  evidence: ClusterEvidence,
  inspected?: InspectedObject,
): readonly Finding[] {
  const findings = CHECKS.flatMap((check) => check.find(evidence, inspected))
  if (inspected === undefined) return findings
  const concerned = new Set(concernedBy(evidence, inspected))
  const isConcerned = ({ check, object, affects }: Finding): boolean =>
    (check === clusterDns.name && inspected.kind !== 'serviceaccount') ||
    [object, ...affects].some((one) => concerned.has(one))
  return findings.filter(isConcerned)
}
