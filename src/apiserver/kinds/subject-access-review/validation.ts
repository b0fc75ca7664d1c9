import type { Reader } from '../../../resources/reader.ts'
import { checkAccess, checkUser } from '../shared/access-review.ts'

export function checkSubjectAccessReview(object: Reader): void {
  const spec = object.object('spec')
  checkAccess(spec)
  checkUser(spec)
}
