import type { JsonObject } from '../../lib/json.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Check, Finding } from '../evidence/finding.ts'
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
import { emptyWorkload } from './scaled-to-zero.ts'

/** A Service whose selector matches no Pod of its namespace: it has no endpoints, and refuses every connection. */
export const selectorMatchesNothing: Check = {
  name: 'selector-matches-nothing',
  find: (evidence) => {
    if (!evidence.has('services', 'pods')) return []
    return evidence.all('services').flatMap((service) => findingOf(service, evidence))
  },
}

function findingOf(service: JsonObject, evidence: ClusterEvidence): readonly Finding[] {
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
          : 'move the Service into the namespace of its Pods: a Service selects in its own alone',
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
    const differences = wrong.map(([key, value]) => difference(key, value, labels))
    const isNear = differences.every((text) => text !== undefined)
    const isMostlyEqual = wrong.length < Object.keys(selector).length
    if (!isNear && !isMostlyEqual) return []
    const texts = wrong.map(
      ([key, value], index) => differences[index] ?? `${key}=${value}, which it has not`,
    )
    return [{ pod, differences: texts }]
  })
  return near.toSorted((a, b) => a.differences.length - b.differences.length)[0]
}

/** The label of a Pod that is probably a misspelling of the wanted label; undefined: no label resembles it. */
function difference(
  key: string,
  value: string,
  labels: Readonly<Record<string, string>>,
): string | undefined {
  const own = labels[key]
  if (own !== undefined && nearest(value, [own]) !== undefined) {
    return `${key}=${quote(own)} instead of ${quote(value)}`
  }
  const nearKey = nearest(key, Object.keys(labels))
  return nearKey !== undefined && nearKey !== key && labels[nearKey] === value
    ? `the key ${quote(nearKey)} instead of ${quote(key)}`
    : undefined
}
