import { type JsonObject, valueAt } from '../../lib/json.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import {
  templatePod,
  type Workload,
  workloadName,
  workloads,
} from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { isInspected } from '../evidence/inspected-object.ts'
import {
  isPresent,
  keyOf,
  labelsOf,
  labelText,
  nameOf,
  namespaceOf,
  selectorOf,
  selects,
} from '../evidence/objects.ts'

/** A Service whose selector matches no Pod of its namespace: it has no endpoints, and refuses every connection. */
export const selectorMatchesNothing: Check = {
  name: 'selector-matches-nothing',
  find: (evidence) => {
    if (!evidence.has('services', 'pods')) return []
    return evidence.all('services').flatMap((service) => unmatchedSelector(service, evidence))
  },
}

function unmatchedSelector(service: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
  const selector = selectorOf(service)
  if (selector === undefined) return []
  const namespace = namespaceOf(service)
  const pods = evidence.podsIn(namespace).filter(isPresent)
  if (pods.some((pod) => selects(selector, labelsOf(pod)))) return []
  // A workload with zero replicas has no Pods on purpose.
  if (emptyWorkload(service, evidence) !== undefined) return []
  const near = nearestPod(selector, pods)
  const elsewhere = evidence
    .all('pods')
    .find((pod) => namespaceOf(pod) !== namespace && selects(selector, labelsOf(pod)))
  const found = {
    check: selectorMatchesNothing.name,
    symptom: 'Service not reachable',
    object: `service/${keyOf(service)}`,
    affects: [],
    cause: `the selector ${labelText(selector)} matches no Pod of the namespace ${namespace}`,
  } as const
  const count = `${namespace} has ${pods.length} Pods`
  if (near !== undefined) {
    return [
      {
        ...found,
        evidence: [count, `pod/${nameOf(near.pod)} differs only in ${near.differences.join(', ')}`],
        remedy: 'correct the selector, or the labels of the Pods where they are made',
        commands: [
          `orchctl -n ${namespace} edit service/${nameOf(service)}`,
          `orchctl -n ${namespace} get pods --show-labels`,
        ],
      },
    ]
  }
  return [
    {
      ...found,
      evidence: [
        count,
        ...(elsewhere === undefined
          ? []
          : [`pod/${keyOf(elsewhere)} has these labels, in another namespace`]),
      ],
      remedy:
        elsewhere === undefined
          ? 'start Pods with these labels'
          : 'move the Service into the namespace of its Pods: a Service selects Pods of its own namespace only',
      commands: [`orchctl -n ${namespace} get pods --show-labels`],
    },
  ]
}

interface NearPod {
  readonly pod: JsonObject
  /** `app=wbe instead of app=web`. */
  readonly differences: readonly string[]
}

/** The Pod that most of the selector matches, if the rest looks like a mistake. */
function nearestPod(
  selector: Readonly<Record<string, string>>,
  pods: readonly JsonObject[],
): NearPod | undefined {
  const near = pods.flatMap((pod): NearPod[] => {
    const labels = labelsOf(pod)
    const wrong = Object.entries(selector).filter(([key, value]) => labels[key] !== value)
    const differences = wrong.map(([key, value]) => labelDifference(key, value, labels))
    const isNear = differences.every((text) => text !== undefined)
    const isMostlyEqual = wrong.length < Object.keys(selector).length
    if (!isNear && !isMostlyEqual) return []
    const texts = wrong.map(
      ([key, value], index) => differences[index] ?? `${key}=${value}, which it does not have`,
    )
    return [{ pod, differences: texts }]
  })
  return near.toSorted((a, b) => a.differences.length - b.differences.length)[0]
}

/** The label of a Pod that is probably a misspelling of the wanted label; undefined: no label resembles it. */
function labelDifference(
  key: string,
  value: string,
  labels: Readonly<Record<string, string>>,
): string | undefined {
  const own = Object.hasOwn(labels, key) ? labels[key] : undefined
  if (own !== undefined && nearest(value, [own]) !== undefined) {
    return `${key}=${quote(own)} instead of ${quote(value)}`
  }
  const nearKey = nearest(key, Object.keys(labels))
  return nearKey !== undefined && nearKey !== key && labels[nearKey] === value
    ? `the key ${quote(nearKey)} instead of ${quote(key)}`
    : undefined
}

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
function emptyWorkload(service: JsonObject, evidence: ClusterEvidence): Workload | undefined {
  const selector = selectorOf(service)
  if (selector === undefined || evidence.podsOf(service).length > 0) return undefined
  return workloads(evidence).find((one) => {
    const pod = templatePod(one)
    const isEmpty = valueAt(one.object, 'spec', 'replicas') === 0
    const isHere = namespaceOf(pod) === namespaceOf(service)
    return isEmpty && isHere && selects(selector, labelsOf(pod))
  })
}
