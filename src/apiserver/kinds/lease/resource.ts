import { leaseWrite } from '../../../auth/node/node-writes.ts'
import type { Resource } from '../../resource/resource.ts'
import { aliasVersions } from '../shared/alias-versions.ts'
import { nodeRule } from '../shared/node-rule.ts'
import { columns } from './columns.ts'
import { checkLease } from './validation.ts'

/** coordination.k8s.io/v1 Lease, also under the group of orch. */
export const leases: Resource = {
  plural: 'leases',
  singular: 'lease',
  kind: 'Lease',
  shortNames: [],
  categories: [],
  namespaced: true,
  versions: aliasVersions('coordination', 'v1'),
  createOnUpdate: true,
  updateNeedsVersion: true,
  countsGenerations: false,
  fields: () => ({}),
  columns,
  checkWriter: nodeRule(leaseWrite, 'leases', 'coordination.k8s.io'),
  validate: checkLease,
  validateUpdate: 'none',
  defaults: 'none',
}
