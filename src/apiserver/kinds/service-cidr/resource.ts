import type { Resource } from '../../resource/resource.ts'
import { aliasVersions } from '../shared/alias-versions.ts'
import { columns } from './columns.ts'
import { checkServiceCidr } from './validation.ts'

/** The ranges that ClusterIPs are taken from; the server alone writes the one object that there is. */
export const serviceCidrs: Resource = {
  plural: 'servicecidrs',
  singular: 'servicecidr',
  kind: 'ServiceCIDR',
  shortNames: [],
  categories: [],
  namespaced: false,
  isReadOnly: true,
  versions: aliasVersions('networking', 'v1'),
  status: { initial: (sent) => sent },
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: () => ({}),
  columns,
  validate: checkServiceCidr,
  validateUpdate: 'none',
  defaults: 'none',
}
