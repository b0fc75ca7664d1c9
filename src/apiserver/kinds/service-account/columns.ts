import { arrayAt } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('Secrets', 'How many secrets it may use.', (object) =>
    String(arrayAt(object, 'secrets').length),
  ),
  ageColumn,
]
