import type { Reader } from './reader.ts'

/** One of `values`; the first one if the field is absent or empty, or (with a finding) has an unknown value. */
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
