import { isPathSegment } from '../../../../resources/names.ts'
import type { Reader } from '../../../../resources/reader.ts'

/** A reference to one entry of a ConfigMap or Secret, whose key must be there. */
export function checkDataKey(reference: Reader): void {
  const key = reference.value('key')
  const isKey = typeof key === 'string' && isPathSegment(key) && /^[-._a-zA-Z0-9]+$/.test(key)
  if (!isKey)
    reference.refuse('key', 'must be the key of an entry: at most 253 of a-z, A-Z, 0-9, -, _ and .')
}
