import { type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check } from '../evidence/finding.ts'
import { isInspected } from '../evidence/inspected-object.ts'
import { keyOf, labelsOf, nameOf, namespaceOf, selectorOf, selects } from '../evidence/objects.ts'

/** The inspected Service is of a Deployment with zero replicas. That is meant so: of other Services it is no finding. */
export const scaledToZero: Check = {
  name: 'scaled-to-zero',
  find: (evidence, inspected) =>
    evidence
      .all('services')
      .filter((service) => isInspected('service', service, inspected))
      .flatMap((service) => {
        const deployment = emptyDeployment(service, evidence)
        if (deployment === undefined) return []
        const name = nameOf(deployment)
        return [
          {
            check: scaledToZero.name,
            symptom: 'Service not reachable' as const,
            object: `deployment/${keyOf(deployment)}`,
            affects: [`service/${keyOf(service)}`],
            cause: `the Deployment ${name} has 0 replicas: service/${nameOf(service)} has no Pods`,
            evidence: ['the selector of the Service matches the template of the Deployment'],
            remedy: 'scale the Deployment',
            commands: [`orchctl -n ${namespaceOf(service)} scale deployment/${name} --replicas=1`],
          },
        ]
      }),
}

/** The Deployment with zero replicas whose Pods a Service without Pods would select. */
export function emptyDeployment(
  service: JsonObject,
  evidence: ClusterEvidence,
): JsonObject | undefined {
  const selector = selectorOf(service)
  if (selector === undefined || evidence.podsOf(service).length > 0) return undefined
  return evidence
    .all('deployments')
    .find(
      (one) =>
        namespaceOf(one) === namespaceOf(service) &&
        valueAt(one, 'spec', 'replicas') === 0 &&
        selects(selector, labelsOf(templateOf(one))),
    )
}

function templateOf(deployment: JsonObject): JsonObject {
  const metadata = valueAt(deployment, 'spec', 'template', 'metadata') ?? {}
  return { name: stringAt(deployment, 'metadata', 'name'), metadata }
}
