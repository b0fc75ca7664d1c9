import type { Reader } from './reader.ts'

/** One of `values`; the first one when the field is absent, empty or, with a finding, unknown. */
export function readChoice<T extends string>(
  object: Reader,
  key: string,
  values: readonly [T, ...T[]],
): T {
  const value = object.value(key)
  const found = values.find((candidate) => candidate === value)
  if (found !== undefined) return found
  if (value !== undefined && value !== '') {
    object.refuse(key, { supported: values }, `${values[0]} is used`)
  }
  return values[0]
}
