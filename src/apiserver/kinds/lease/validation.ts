import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { isTimestamp } from '../../../resources/timestamp.ts'
import { checkField, checkInteger } from '../shared/checks.ts'

/**
 * The rules of coordination.k8s.io/v1; times are RFC 3339 texts. Reading a field, such as `spec.text`, reports a
 * value of the wrong type.
 */
export function checkLease(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  spec.text('holderIdentity')
  checkInteger(spec, 'leaseDurationSeconds', 1)
  checkInteger(spec, 'leaseTransitions', 0)
  for (const key of ['acquireTime', 'renewTime']) {
    checkField(spec, key, isTimestamp, 'must be a time such as 2030-01-02T03:04:05.000000Z')
  }
}
