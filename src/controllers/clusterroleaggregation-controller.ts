import { aggregatedRules } from '../auth/rbac/aggregate.ts'
import { isDeepEqual } from '../lib/equal.ts'
import { selectsLabels } from '../resources/label-selector.ts'
import { AGGREGATED_GROUP } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import type { ClusterRoleObject } from './objects/plain-objects.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'

/**
 * Writes the rules of aggregated ClusterRoles: the rules of the ClusterRoles that they select, in the order of
 * the names of those roles. Rules that were written by hand are replaced. A key is the name of an aggregated
 * ClusterRole.
 */
export const clusterRoleAggregationController: Controller = {
  name: 'clusterroleaggregation',
  account: 'clusterrole-aggregation-controller',
  watches: { clusterroles: affected },
  reconcile,
}

/** Any aggregated ClusterRole may select the one that changed. */
function affected(
  { key, before, after }: ObjectChange<ClusterRoleObject>,
  view: View,
): readonly string[] {
  if (isDeepEqual(before?.role, after?.role)) return []
  const aggregated = [...view.clusterroles.group(AGGREGATED_GROUP)].map(({ meta }) => meta.key)
  return [key, ...aggregated]
}

function reconcile(key: string, view: View): Reconciliation {
  const existing = view.clusterroles.get(key)
  if (existing === undefined || existing.meta.terminating) return SETTLED
  const { meta, role } = existing
  const roles = [...view.clusterroles.values()].toSorted(byName).map((one) => one.role)
  const rules = aggregatedRules(role, roles, selectsLabels)
  if (rules === undefined || isDeepEqual(rules, role['rules'])) return SETTLED
  const body = { rules: [...rules] }
  return { writes: [{ verb: 'patch', collection: 'clusterroles', meta, body }] }
}

function byName({ meta: a }: ClusterRoleObject, { meta: b }: ClusterRoleObject): number {
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}
