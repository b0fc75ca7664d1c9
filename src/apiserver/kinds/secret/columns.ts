import { objectAt, stringAt } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('Type', 'What it is for.', (object) => stringAt(object, 'type')),
  column('Data', 'How many entries it has.', (object) =>
    String(Object.keys(objectAt(object, 'data')).length),
  ),
  ageColumn,
]
