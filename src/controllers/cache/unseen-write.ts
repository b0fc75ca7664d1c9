import { compareVersions } from '../../client/reflector/resource-version.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'

/** An object with its metadata. */
export interface Identified {
  readonly meta: ObjectMeta
}

/** A write of this replica whose event the watch has not delivered yet. */
export interface UnseenWrite<T> {
  /** Undefined: a deletion. */
  readonly written: T | undefined
  /** The last state that the watch delivered. */
  readonly base: T | undefined
  /** Whether a list has ended since the write. */
  readonly isListed: boolean
}

/** Whether `value`, from the watch, is a state from before the write. */
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
 * Whether a list at `version` includes the effect of the write: by its version, or because it began after the
 * write, as another list has ended since.
 */
export function isIncluded<T extends Identified>(
  { written, isListed }: UnseenWrite<T>,
  version: string,
): boolean {
  return isListed || (written !== undefined && order(version, written) >= 0)
}

/** The order of two versions, negative if the first is older; versions that cannot be compared count as newer. */
export function order(version: string, than: Identified): number {
  return compareVersions(version, than.meta.version) ?? 1
}

function isOther(a: Identified, b: Identified): boolean {
  return a.meta.uid !== b.meta.uid
}
