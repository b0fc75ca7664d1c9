import type { Reader } from '../../../resources/reader.ts'
import { isSameValue } from '../../../resources/same-value.ts'

const FROZEN = { forbidden: 'field is immutable when `immutable` is set' }
const FIXED = 'field is immutable; delete the object and create it anew'

/** The data of a ConfigMap or Secret that was declared immutable, and the declaration. */
export function keepData(next: Reader, old: Reader): void {
  if (old.value('immutable') !== true) return
  if (next.value('immutable') !== true) next.refuse('immutable', FROZEN)
  for (const key of ['data', 'binaryData']) {
    if (!isSameValue(next.value(key) ?? {}, old.value(key) ?? {})) next.withhold(key, FROZEN)
  }
}

/** A field that must stay as it is. */
export function keepField(next: Reader, old: Reader, key: string): void {
  if (!isSameValue(next.value(key), old.value(key))) next.refuse(key, FIXED)
}
