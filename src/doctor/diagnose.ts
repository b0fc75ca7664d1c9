import { type JsonObject, stringAt } from '../lib/json.ts'
import { CHECKS } from './checks.ts'
import type { ClusterEvidence } from './evidence/cluster-evidence.ts'
import type { Finding } from './evidence/finding.ts'
import { keyOf, labelsOf, namespaceOf, selectorOf, selects } from './evidence/objects.ts'

/** The object that does not work, by its `namespace/name`. */
export interface InspectedObject {
  readonly kind: 'service' | 'pod' | 'serviceaccount'
  readonly key: string
}

/**
 * What is wrong in a cluster, in the order of `CHECKS`. With an object: only what concerns it or what it needs, of a Service
 * its Pods, of a Pod its account, of both the DNS of the cluster.
 */
export function diagnose(
  evidence: ClusterEvidence,
  inspected?: InspectedObject,
): readonly Finding[] {
  const findings = CHECKS.flatMap((check) => check.find(evidence))
  if (inspected === undefined) return findings
  const concerned = new Set(concernedBy(evidence, inspected))
  const isConcerned = ({ symptom, object, affects }: Finding): boolean =>
    (symptom === 'DNS resolution fails' && inspected.kind !== 'serviceaccount') ||
    [object, ...affects].some((one) => concerned.has(one))
  return findings.filter(isConcerned)
}

/** The object itself, and what it needs. */
function concernedBy(evidence: ClusterEvidence, { kind, key }: InspectedObject): readonly string[] {
  const pods =
    kind === 'pod'
      ? evidence.all('pods').filter((pod) => keyOf(pod) === key)
      : selected(evidence, kind, key)
  const accounts = pods.map(
    (pod) => `${namespaceOf(pod)}/${stringAt(pod, 'spec', 'serviceAccountName') || 'default'}`,
  )
  return [
    `${kind}/${key}`,
    ...pods.map((pod) => `pod/${keyOf(pod)}`),
    ...accounts.map((account) => `serviceaccount/${account}`),
  ]
}

/** The Pods of a Service. */
function selected(
  evidence: ClusterEvidence,
  kind: InspectedObject['kind'],
  key: string,
): readonly JsonObject[] {
  const service = evidence.all('services').find((one) => keyOf(one) === key)
  const selector = service && selectorOf(service)
  if (kind !== 'service' || service === undefined || selector === undefined) return []
  return evidence.podsIn(namespaceOf(service)).filter((pod) => selects(selector, labelsOf(pod)))
}
