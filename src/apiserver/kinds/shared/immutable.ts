import type { Reader } from '../../../resources/reader.ts'
import { isSameValue } from '../../../resources/same-value.ts'

const FROZEN = { forbidden: 'field is immutable when `immutable` is set' }
const FIXED = 'field is immutable; delete the object and create it anew'

/** The role of a binding, so that who may change its subjects cannot raise what they get. */
export function keepBinding(next: Reader, old: Reader): void {
  keep(next, old, 'roleRef')
}

export function keepSlice(next: Reader, old: Reader): void {
  keep(next, old, 'addressType')
}

export function keepSelector(next: Reader, old: Reader): void {
  keep(next.object('spec'), old.object('spec'), 'selector')
}

export function keepSecret(next: Reader, old: Reader): void {
  keep(next, old, 'type')
  keepData(next, old)
}

/** The data of a ConfigMap or Secret that was declared immutable, and the declaration. */
export function keepData(next: Reader, old: Reader): void {
  if (old.value('immutable') !== true) return
  if (next.value('immutable') !== true) next.refuse('immutable', FROZEN)
  for (const key of ['data', 'binaryData']) {
    if (!isSameValue(next.value(key) ?? {}, old.value(key) ?? {})) next.withhold(key, FROZEN)
  }
}

/** A field that must stay as it is. */
function keep(next: Reader, old: Reader, key: string): void {
  if (!isSameValue(next.value(key), old.value(key))) next.refuse(key, FIXED)
}
