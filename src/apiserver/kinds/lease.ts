import { leaseWrite } from '../../auth/node/node-writes.ts'
import { stringAt } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import type { Reader } from '../../resources/reader.ts'
import { isTimestamp } from '../../resources/timestamp.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import { aliasVersions, type Resource } from '../resource/resource.ts'
import { checkField, checkInteger, nodeRule } from './shared/checks.ts'

/** The columns of `kubectl get leases`. */
const columns: readonly Column[] = [
  nameColumn,
  column('Holder', 'Identity of its holder.', (object) =>
    stringAt(object, 'spec', 'holderIdentity'),
  ),
  ageColumn,
]

/** coordination.k8s.io/v1 Lease, also under the group of orch. */
export const leases: Resource = {
  plural: 'leases',
  singular: 'lease',
  kind: 'Lease',
  namespaced: true,
  versions: aliasVersions('coordination', 'v1'),
  createOnUpdate: true,
  updateNeedsVersion: true,
  columns,
  checkWriter: nodeRule(leaseWrite, 'leases', 'coordination.k8s.io'),
  validate: checkLease,
  validateUpdate: 'none',
  defaults: 'none',
}

/**
 * The rules of coordination.k8s.io/v1; times are RFC 3339 texts. Accessors such as `spec.text` report values of
 * the wrong type.
 */
function checkLease(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  spec.text('holderIdentity')
  checkInteger(spec, 'leaseDurationSeconds', 1)
  checkInteger(spec, 'leaseTransitions', 0)
  for (const key of ['acquireTime', 'renewTime']) {
    checkField(spec, key, isTimestamp, 'must be a time such as 2030-01-02T03:04:05.000000Z')
  }
}
