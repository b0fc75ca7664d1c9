import type { ObjectMeta } from './object-meta.ts'

/** Whoever was created first comes first; of the same second or no known time, the smaller key. */
export function byAge(
  { meta: a }: { readonly meta: ObjectMeta },
  { meta: b }: { readonly meta: ObjectMeta },
): number {
  const ages = Date.parse(a.createdAt) - Date.parse(b.createdAt)
  return ages || (a.key < b.key ? -1 : 1)
}
