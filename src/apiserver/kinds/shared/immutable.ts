import type { Reader } from '../../../resources/reader.ts'
import { isSameValue } from '../../../resources/same-value.ts'

const FROZEN = { forbidden: 'field is immutable when `immutable` is set' }
const FIXED = 'field is immutable; delete the object and create it anew'

/** Rejects changes of the data of a ConfigMap or Secret with `immutable: true`, and of that field. */
export function checkImmutableData(next: Reader, old: Reader): void {
  if (old.value('immutable') !== true) return
  if (next.value('immutable') !== true) next.refuse('immutable', FROZEN)
  for (const key of ['data', 'binaryData']) {
    if (!isSameValue(next.value(key) ?? {}, old.value(key) ?? {})) next.withhold(key, FROZEN)
  }
}

/** Rejects a change of a field. */
export function checkUnchanged(next: Reader, old: Reader, key: string): void {
  if (!isSameValue(next.value(key), old.value(key))) next.refuse(key, FIXED)
}
