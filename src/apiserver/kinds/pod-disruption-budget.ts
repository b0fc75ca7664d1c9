import { type JsonObject, scalarText, valueAt } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import { checkCountOrPercentage, checkOneOf } from './shared/checks.ts'
import { checkLabelSelector } from './shared/label-selector.ts'
import { countAt } from './shared/pod-spec/pod-template.ts'

const LIMITS = ['minAvailable', 'maxUnavailable'] as const

/** The columns of `kubectl get poddisruptionbudgets`. */
const columns: readonly Column[] = [
  nameColumn,
  column('Min Available', 'Pods that an eviction must leave.', (object) =>
    limitOf(object, 'minAvailable'),
  ),
  column('Max Unavailable', 'Pods that may be missing after an eviction.', (object) =>
    limitOf(object, 'maxUnavailable'),
  ),
  column('Allowed Disruptions', 'Pods that may be evicted now.', (object) =>
    countAt(object, 'status', 'disruptionsAllowed'),
  ),
  ageColumn,
]

/** policy/v1 PodDisruptionBudget with the subresource status. */
export const podDisruptionBudgets: Resource = {
  plural: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  kind: 'PodDisruptionBudget',
  shortNames: ['pdb'],
  namespaced: true,
  versions: [{ group: 'policy', version: 'v1' }],
  status: { initial: () => ({}) },
  countsGenerations: true,
  columns,
  validate: checkBudget,
  validateUpdate: 'none',
  defaults: 'none',
}

function limitOf(object: JsonObject, field: (typeof LIMITS)[number]): string {
  return scalarText(valueAt(object, 'spec', field)) || 'N/A'
}

/** The rules of policy/v1. A budget is only stored: this server has no evictions. */
function checkBudget(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of LIMITS) checkCountOrPercentage(spec, key)
  if (LIMITS.every((key) => spec.value(key) !== undefined)) {
    spec.refuse('maxUnavailable', 'must be absent when minAvailable is set')
  }
  checkLabelSelector(spec.object('selector'))
  checkOneOf(spec, 'unhealthyPodEvictionPolicy', ['IfHealthyBudget', 'AlwaysAllow'])
}
