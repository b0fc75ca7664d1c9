import { stringAt } from '../../../lib/json.ts'
import { nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

const createdAt = column('Created At', 'When it was created.', (object) =>
  stringAt(object, 'metadata', 'creationTimestamp'),
)

export const columns: readonly Column[] = [nameColumn, createdAt]
