import type { Digest, ObjectKey } from '../mode.ts'
import { digestCount } from '../netfilter/chains/object.ts'

const KIND = 'set/'

/** The digest of every set: only its existence is compared, because packets fill it. */
export const SET_DIGEST: Digest = digestCount(1)

/** `set/NPROXY-A4-…` */
export function setKey(name: string): ObjectKey {
  return `${KIND}${name}` as ObjectKey
}

export function isSetKey(key: ObjectKey): boolean {
  return key.startsWith(KIND)
}

/** The inverse of `setKey`. */
export function setName(key: ObjectKey): string {
  return key.slice(KIND.length)
}
