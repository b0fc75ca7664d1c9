import { arrayAt, scalarText } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('CIDRs', 'The ranges.', (object) =>
    arrayAt(object, 'spec', 'cidrs').map(scalarText).join(','),
  ),
  ageColumn,
]
