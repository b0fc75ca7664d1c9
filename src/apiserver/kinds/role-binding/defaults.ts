import { RBAC_GROUP } from '../../../resources/api-groups.ts'
import { own, type Raw } from '../../../resources/raw.ts'
import { changeEach, changePresent, fill } from '../shared/edit.ts'

/** Users, groups and roles are of the RBAC group; ServiceAccounts are of the core group. */
export function defaultBinding(binding: Raw): Raw {
  const referred = changePresent(binding, 'roleRef', ofGroup)
  return changeEach(referred, 'subjects', (subject) => {
    const kind = own(subject, 'kind')
    return kind === 'User' || kind === 'Group' ? ofGroup(subject) : subject
  })
}

function ofGroup(reference: Raw): Raw {
  return fill(reference, { apiGroup: RBAC_GROUP })
}
