import { valueAt } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column } from '../../table/column.ts'
import { selectorText } from '../shared/selector-text.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('Pod-Selector', 'Labels of the pods that the policy applies to.', (object) =>
    selectorText(valueAt(object, 'spec', 'podSelector')),
  ),
  ageColumn,
]
