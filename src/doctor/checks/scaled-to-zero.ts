import { type JsonObject, valueAt } from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check } from '../evidence/finding.ts'
import { isInspected } from '../evidence/inspected-object.ts'
import { keyOf, labelsOf, nameOf, namespaceOf, selectorOf, selects } from '../evidence/objects.ts'
import { templatePod, type Workload, workloadName, workloads } from '../evidence/workloads.ts'

/**
 * The inspected Service selects the Pods of a Deployment or StatefulSet with zero replicas. For other Services this is
 * not a finding, because it may be intended.
 */
export const scaledToZero: Check = {
  name: 'scaled-to-zero',
  find: (evidence, inspected) =>
    evidence
      .all('services')
      .filter((service) => isInspected('service', service, inspected))
      .flatMap((service) => {
        const workload = emptyWorkload(service, evidence)
        if (workload === undefined) return []
        const { kind } = workload
        const name = nameOf(workload.object)
        return [
          {
            check: scaledToZero.name,
            symptom: 'Service not reachable' as const,
            object: workloadName(workload),
            affects: [`service/${keyOf(service)}`],
            cause: `the ${kind} ${name} has 0 replicas: service/${nameOf(service)} has no Pods`,
            evidence: [`the selector of the Service matches the template of the ${kind}`],
            remedy: `scale the ${kind}`,
            commands: [
              `orchctl -n ${namespaceOf(service)} scale ${kind.toLowerCase()}/${name} --replicas=1`,
            ],
          },
        ]
      }),
}

/** The workload with zero replicas whose Pods a Service without Pods would select. */
export function emptyWorkload(
  service: JsonObject,
  evidence: ClusterEvidence,
): Workload | undefined {
  const selector = selectorOf(service)
  if (selector === undefined || evidence.podsOf(service).length > 0) return undefined
  return workloads(evidence).find((one) => {
    const pod = templatePod(one)
    const isEmpty = valueAt(one.object, 'spec', 'replicas') === 0
    const isHere = namespaceOf(pod) === namespaceOf(service)
    return isEmpty && isHere && selects(selector, labelsOf(pod))
  })
}
