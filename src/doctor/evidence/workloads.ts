import { type JsonObject, objectAt } from '../../lib/json.ts'
import type { ClusterEvidence } from './cluster-evidence.ts'
import { keyOf, namespaceOf } from './objects.ts'

/** An object that makes Pods. */
export interface Workload {
  readonly kind: 'Deployment' | 'StatefulSet'
  readonly object: JsonObject
  /** The template of its Pods: their metadata and spec. */
  readonly template: JsonObject
}

/** The objects of a cluster that make Pods, Deployments first. */
export function workloads(evidence: ClusterEvidence): readonly Workload[] {
  const of = (kind: Workload['kind'], objects: readonly JsonObject[]): readonly Workload[] =>
    objects.map((object) => ({ kind, object, template: objectAt(object, 'spec', 'template') }))
  return [
    ...of('Deployment', evidence.all('deployments')),
    ...of('StatefulSet', evidence.all('statefulsets')),
  ]
}

/** `deployment/shop/web` */
export function workloadName({ kind, object }: Workload): string {
  return `${kind.toLowerCase()}/${keyOf(object)}`
}

/** The template, as an object of the namespace in which its Pods would be. */
export function templatePod({ object, template }: Workload): JsonObject {
  const metadata = { ...objectAt(template, 'metadata'), namespace: namespaceOf(object) }
  return { ...template, metadata }
}
