import { shortDuration } from '../../lib/duration.ts'
import { stringAt } from '../../lib/json.ts'
import { type Column, column } from './column.ts'

export const nameColumn: Column = {
  ...column('Name', 'Name of the object, unique in its namespace.', (object) =>
    stringAt(object, 'metadata', 'name'),
  ),
  format: 'name',
}

export const ageColumn: Column = column(
  'Age',
  'Time since the object was created.',
  (object, now) => {
    const created = Date.parse(stringAt(object, 'metadata', 'creationTimestamp'))
    return Number.isNaN(created) ? '<unknown>' : shortDuration((now - created) / 1000)
  },
)
