import { type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { type ObjectMeta, readMeta } from './object-meta.ts'

/** The fields of a Deployment, ReplicaSet, DaemonSet, StatefulSet or Job that controllers read. */
export interface WorkloadObject {
  readonly meta: ObjectMeta
  /** `metadata.generation`, which counts the changes of `spec`; 0 where it is absent. */
  readonly generation: number
  /** `spec.replicas`; 1 where it is absent. */
  readonly replicas: number
  /** `spec.minReadySeconds` in milliseconds; 0 where it is absent. */
  readonly minReadyMs: number
  /** `spec.selector`, a LabelSelector; undefined: it selects nothing. */
  readonly selector: Json | undefined
  /** `spec.template`. */
  readonly template: JsonObject
  readonly spec: JsonObject
  readonly status: JsonObject
}

/** Reads a workload as the API server sent it; see `readMeta` for missing fields. */
export function readWorkload(object: JsonObject): WorkloadObject {
  const spec = objectAt(object, 'spec')
  return {
    meta: readMeta(object),
    generation: countAt(object, 0, 'metadata', 'generation'),
    replicas: countAt(spec, 1, 'replicas'),
    minReadyMs: 1000 * countAt(spec, 0, 'minReadySeconds'),
    selector: valueAt(spec, 'selector'),
    template: objectAt(spec, 'template'),
    spec,
    status: objectAt(object, 'status'),
  }
}

/** Whether Pods of an old template are replaced, as `spec.updateStrategy` of a DaemonSet or StatefulSet has it. */
export function isRollingUpdate({ spec }: Pick<WorkloadObject, 'spec'>): boolean {
  return (stringAt(spec, 'updateStrategy', 'type') || 'RollingUpdate') === 'RollingUpdate'
}

/** A whole number of an object; `otherwise` where the field is absent or holds something else. */
export function countAt(object: JsonObject, otherwise: number, ...path: readonly string[]): number {
  const value = valueAt(object, ...path)
  return typeof value === 'number' && Number.isInteger(value) ? value : otherwise
}
