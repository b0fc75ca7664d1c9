import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ClusterEvidence } from './cluster-evidence.ts'
import { keyOf, namespaceOf } from './objects.ts'

/** The object that does not work, by its `namespace/name`. */
export interface InspectedObject {
  readonly kind: 'service' | 'pod' | 'serviceaccount'
  readonly key: string
}

const KINDS: Readonly<Record<string, InspectedObject['kind']>> = {
  Service: 'service',
  Pod: 'pod',
  ServiceAccount: 'serviceaccount',
}

/** How objects of a kind of the core group are inspected; undefined: they cannot be inspected. */
export function inspectedKind(kind: string): InspectedObject['kind'] | undefined {
  return KINDS[kind]
}

/** Whether a Service is the one that the user inspects. */
export function isInspected(
  kind: InspectedObject['kind'],
  object: JsonObject,
  inspected: InspectedObject | undefined,
): boolean {
  return inspected?.kind === kind && inspected.key === keyOf(object)
}

/** The object itself and what it needs, as findings name them: `pod/shop/web-1`. */
export function concernedBy(
  evidence: ClusterEvidence,
  { kind, key }: InspectedObject,
): readonly string[] {
  const pods = podsOf(evidence, { kind, key })
  const accounts = pods.map((pod) => `serviceaccount/${accountOf(pod)}`)
  return [`${kind}/${key}`, ...pods.map((pod) => `pod/${keyOf(pod)}`), ...accounts]
}

function podsOf(evidence: ClusterEvidence, { kind, key }: InspectedObject): readonly JsonObject[] {
  if (kind === 'pod') return evidence.all('pods').filter((pod) => keyOf(pod) === key)
  const service = kind === 'service' ? evidence.find('services', key) : undefined
  return service === undefined ? [] : evidence.podsOf(service)
}

/** The account of a Pod: `namespace/name`. */
export function accountOf(pod: JsonObject): string {
  return `${namespaceOf(pod)}/${stringAt(pod, 'spec', 'serviceAccountName') || 'default'}`
}
