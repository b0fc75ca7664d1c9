import { contentHash } from '../../lib/hash.ts'

/** Ten hexadecimal digits of a hash: short enough for the name of a link. */
export function shortHash(text: string): string {
  return contentHash(text).toString(16).padStart(13, '0').slice(-10)
}
