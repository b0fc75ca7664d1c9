import { arrayAt, type JsonObject, stringAt } from '../../../lib/json.ts'
import { ageColumn, nameColumn } from '../../table/age.ts'
import { type Column, column, wideColumn } from '../../table/column.ts'

export const columns: readonly Column[] = [
  nameColumn,
  column('Role', 'The role that is granted.', roleText),
  ageColumn,
  wideColumn('Users', 'Users that it is granted to.', (object) => subjects(object, 'User')),
  wideColumn('Groups', 'Groups that it is granted to.', (object) => subjects(object, 'Group')),
  wideColumn('ServiceAccounts', 'Accounts that it is granted to.', (object) =>
    subjects(object, 'ServiceAccount'),
  ),
]

function roleText(object: JsonObject): string {
  return `${stringAt(object, 'roleRef', 'kind')}/${stringAt(object, 'roleRef', 'name')}`
}

function subjects(object: JsonObject, kind: string): string {
  const those = arrayAt(object, 'subjects').filter((one) => stringAt(one, 'kind') === kind)
  const names = those.map((one) => {
    const namespace = kind === 'ServiceAccount' ? `${stringAt(one, 'namespace')}/` : ''
    return namespace + stringAt(one, 'name')
  })
  return names.join(', ')
}
