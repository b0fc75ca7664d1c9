import { stringAt } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('Status', 'Active, or being deleted.', (object) => stringAt(object, 'status', 'phase')),
  ageColumn,
]
