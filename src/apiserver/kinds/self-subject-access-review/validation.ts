import type { Reader } from '../../../resources/reader.ts'
import { checkAccess } from '../shared/access-review.ts'

export function checkSelfSubjectAccessReview(object: Reader): void {
  checkAccess(object.object('spec'))
}
