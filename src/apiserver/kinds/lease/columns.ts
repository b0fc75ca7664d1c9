import { stringAt } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

/** The columns of `kubectl get leases`. */
export const columns: readonly Column[] = [
  nameColumn,
  column('Holder', 'Identity of its holder.', (object) =>
    stringAt(object, 'spec', 'holderIdentity'),
  ),
  ageColumn,
]
