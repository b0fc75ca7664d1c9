import type { Reader } from '../../../resources/reader.ts'
import { checkAccess, checkUser } from '../shared/access-review.ts'

/** It is about resources of its own namespace: who may create it learns nothing of another one. */
export function checkLocalSubjectAccessReview(object: Reader): void {
  const spec = object.object('spec')
  checkAccess(spec)
  checkUser(spec)
  if (spec.value('nonResourceAttributes') !== undefined) {
    spec.refuse('nonResourceAttributes', 'must be absent: a path is in no namespace')
  }
  if (spec.value('resourceAttributes') === undefined) return
  const attributes = spec.object('resourceAttributes')
  if (attributes.value('namespace') !== object.object('metadata').value('namespace')) {
    attributes.refuse('namespace', 'must be the namespace of the review')
  }
}
