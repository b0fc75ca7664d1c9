import { isAggregated } from '../../auth/rbac/aggregate.ts'
import { arrayAt, type JsonObject, objectAt, valueAt } from '../../lib/json.ts'
import { type MetadataObject, readMetadataObject } from './object-meta.ts'

/** The fields of a ClusterRole that controllers read. */
export interface ClusterRoleObject extends MetadataObject {
  /** Whether its rules are aggregated from other ClusterRoles. */
  readonly isAggregated: boolean
  /** The stored fields that aggregation depends on: name, labels, rules and `aggregationRule`. */
  readonly role: JsonObject
}

/** Reads a ClusterRole as the API server sent it; see `readMeta` for missing fields. */
export function readClusterRole(object: JsonObject): ClusterRoleObject {
  const { meta } = readMetadataObject(object)
  const aggregationRule = valueAt(object, 'aggregationRule')
  const role: JsonObject = {
    metadata: { name: meta.name, labels: objectAt(object, 'metadata', 'labels') },
    rules: arrayAt(object, 'rules'),
    ...(aggregationRule === undefined ? {} : { aggregationRule }),
  }
  return { meta, isAggregated: isAggregated(role), role }
}
