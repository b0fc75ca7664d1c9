import { isRaw, ownField } from './reader.ts'

/** Whether two values are the same JSON; null equals absent, and the order of fields does not count. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSameValue(item, b[index]))
  }
  if (!isRaw(a) || !isRaw(b)) return (a ?? undefined) === (b ?? undefined)
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every((key) => isSameValue(ownField(a, key), ownField(b, key)))
}
