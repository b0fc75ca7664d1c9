import { arrayAt, scalarText } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import { aliasVersions, type Resource } from '../resource/resource.ts'

const columns: readonly Column[] = [
  nameColumn,
  column('CIDRs', 'The ranges.', (object) =>
    arrayAt(object, 'spec', 'cidrs').map(scalarText).join(','),
  ),
  ageColumn,
]

/** The ranges that ClusterIPs are taken from. There is one object, which only the server writes. */
export const serviceCidrs: Resource = {
  plural: 'servicecidrs',
  singular: 'servicecidr',
  kind: 'ServiceCIDR',
  namespaced: false,
  isReadOnly: true,
  versions: aliasVersions('networking', 'v1'),
  status: { initial: (sent) => sent },
  columns,
  validate: checkServiceCidr,
  validateUpdate: 'none',
  defaults: 'none',
}

function checkServiceCidr(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'subdomain' })
}
