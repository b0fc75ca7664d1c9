import { type JsonObject, scalarText, valueAt } from '../../../lib/json.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn, numberColumn } from '../../resource/column.ts'
import type { Resource } from '../../resource/resource.ts'
import { checkField, checkInteger, checkOneOf, isInt32From } from '../shared/checks.ts'
import { checkLabelSelector } from '../shared/label-selector.ts'

const SHARE = /^(?:100|\d{1,2})%$/
const LIMITS = ['minAvailable', 'maxUnavailable'] as const
const COUNTS = ['currentHealthy', 'desiredHealthy', 'disruptionsAllowed', 'expectedPods'] as const
const POLICIES = ['IfHealthyBudget', 'AlwaysAllow']

const columns: readonly Column[] = [
  nameColumn,
  limitColumn('Min Available', 'minAvailable', 'How many pods must stay available.'),
  limitColumn('Max Unavailable', 'maxUnavailable', 'How many pods may be unavailable.'),
  numberColumn('Allowed Disruptions', 'How many pods may be evicted now.', (object) =>
    Number(valueAt(object, 'status', 'disruptionsAllowed') ?? 0),
  ),
  ageColumn,
]

function limitColumn(name: string, field: string, description: string): Column {
  const cell = (object: JsonObject): string => scalarText(valueAt(object, 'spec', field)) || 'N/A'
  return column(name, description, cell)
}

/** policy/v1 PodDisruptionBudget: how many Pods of a selection the subresource `eviction` may delete. */
export const podDisruptionBudgets: Resource = {
  plural: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  kind: 'PodDisruptionBudget',
  shortNames: ['pdb'],
  namespaced: true,
  versions: [{ group: 'policy', version: 'v1' }],
  status: { initial: () => Object.fromEntries(COUNTS.map((key) => [key, 0])) },
  countsGenerations: true,
  columns,
  validate: checkBudget,
  validateUpdate: 'none',
  defaults: 'none',
}

/** The rules of policy/v1. */
function checkBudget(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of LIMITS) {
    checkField(spec, key, isCountOrShare, 'must be a number of pods, or a share such as 50%')
  }
  if (LIMITS.every((key) => spec.value(key) !== undefined)) {
    spec.refuse('maxUnavailable', 'must be absent beside minAvailable')
  }
  checkLabelSelector(spec.object('selector'))
  checkOneOf(spec, 'unhealthyPodEvictionPolicy', POLICIES)
  const status = object.object('status')
  for (const key of COUNTS) checkInteger(status, key, 0)
}

function isCountOrShare(value: unknown): boolean {
  return isInt32From(value, 0) || (typeof value === 'string' && SHARE.test(value))
}
