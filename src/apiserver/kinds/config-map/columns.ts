import { type JsonObject, objectAt } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('Data', 'How many entries it has.', entries),
  ageColumn,
]

function entries(object: JsonObject): string {
  const count = ['data', 'binaryData'].map((field) => Object.keys(objectAt(object, field)).length)
  return String(count.reduce((sum, one) => sum + one, 0))
}
