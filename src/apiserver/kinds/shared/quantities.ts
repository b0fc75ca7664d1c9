import { canonicalQuantity } from '../../../resources/quantity.ts'
import { own, type Raw } from '../../../resources/raw.ts'
import { changePresent } from './edit.ts'

/** The maps of quantities at these keys, each in canonical form. */
export function writeQuantities(object: Raw, keys: readonly string[]): Raw {
  return keys.reduce((all, key) => changePresent(all, key, writeAll), object)
}

/** The quantity at `key`, if there is one. */
export function writeQuantity(object: Raw, key: string): Raw {
  const value = own(object, key)
  return value === undefined ? object : { ...object, [key]: canonicalQuantity(value) }
}

function writeAll(amounts: Raw): Raw {
  const entries = Object.entries(amounts).map(([key, value]) => [key, canonicalQuantity(value)])
  return Object.fromEntries(entries) as Raw
}
