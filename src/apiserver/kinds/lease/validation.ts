import { isIntegerIn } from '../../../resources/integer.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { isTimestamp } from '../../../resources/timestamp.ts'
import { checkField } from '../shared/checks.ts'

const MAX = 2 ** 31 - 1

export function checkLease(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  spec.text('holderIdentity')
  checkField(spec, 'leaseDurationSeconds', isFrom(1), 'must be an integer of at least 1')
  checkField(spec, 'leaseTransitions', isFrom(0), 'must be an integer of at least 0')
  for (const key of ['acquireTime', 'renewTime']) {
    checkField(spec, key, isTimestamp, 'must be a time such as 2030-01-02T03:04:05.000000Z')
  }
}

function isFrom(least: number): (value: unknown) => boolean {
  return (value) => isIntegerIn(value, least, MAX)
}
