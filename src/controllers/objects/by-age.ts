import type { ObjectMeta } from './object-meta.ts'

/** Orders by creation time, the oldest first; equal or unknown times by key. */
export function byAge(
  { meta: a }: { readonly meta: ObjectMeta },
  { meta: b }: { readonly meta: ObjectMeta },
): number {
  const ages = Date.parse(a.createdAt) - Date.parse(b.createdAt)
  return ages || (a.key < b.key ? -1 : 1)
}
