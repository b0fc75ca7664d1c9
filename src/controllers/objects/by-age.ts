import type { ObjectMeta } from './object-meta.ts'

/**
 * Compares two objects for sorting: by creation time, the oldest first; by key if the times are equal or one is
 * unknown.
 */
export function byAge(
  { meta: a }: { readonly meta: ObjectMeta },
  { meta: b }: { readonly meta: ObjectMeta },
): number {
  const difference = Date.parse(a.createdAt) - Date.parse(b.createdAt)
  const isDecided = difference !== 0 && !Number.isNaN(difference)
  if (isDecided) return difference
  return a.key < b.key ? -1 : 1
}
