import { compareVersions } from '../../client/reflector/resource-version.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'

export interface Identified {
  readonly meta: ObjectMeta
}

/** A write of ours that the watch has not shown yet. */
export interface UnseenWrite<T> {
  /** Undefined: a deletion. */
  readonly written: T | undefined
  /** What the watch has shown. */
  readonly base: T | undefined
  /** A list has ended since. */
  readonly isListed: boolean
}

/** Whether `value` is news from before an unseen write. */
export function isOlder<T extends Identified>(
  value: T | undefined,
  { written, base }: UnseenWrite<T>,
): boolean {
  if (value === undefined)
    return written !== undefined && base !== undefined && isOther(written, base)
  if (written !== undefined) return order(value.meta.version, written) < 0
  return base !== undefined && !isOther(value, base)
}

/**
 * Whether a list at `version` shows what became of the write: that version
 * includes it, or the list began after it, because another one has ended since.
 */
export function isIncluded<T extends Identified>(
  { written, isListed }: UnseenWrite<T>,
  version: string,
): boolean {
  return isListed || (written !== undefined && order(version, written) >= 0)
}

/** Versions that cannot be compared are taken for newer. */
export function order(version: string, than: Identified): number {
  return compareVersions(version, than.meta.version) ?? 1
}

function isOther(a: Identified, b: Identified): boolean {
  return a.meta.uid !== b.meta.uid
}
