import { constants } from 'node:os'
import type { Element, SetSpec } from '../objects.ts'
import { lengthOf } from '../user-data.ts'
import { type ElementStore, type HeldElement, isExpired } from './element-store.ts'
import { FieldRanges } from './field-ranges.ts'
import { RangeBounds } from './range-bounds.ts'
import { SingleKeys } from './single-keys.ts'

const { EEXIST, EINVAL, EOPNOTSUPP } = constants.errno

/** NFT_DATA_VALUE_MAXLEN, and the most fields of a concatenation with ranges. */
const MAX_BYTES = 64
const MAX_FIELDS = 16

/** Milliseconds for which an expired element stays in memory: the kernel collects once a second. */
const COLLECT_MS = 1_000

/** A set or map of the fake kernel, with its elements. */
export class FakeSet {
  spec: SetSpec
  readonly store: ElementStore
  /** The number of rules that look it up or fill it. */
  uses = 0
  /** The number of elements that lead to each chain. */
  readonly targets = new Map<string, number>()
  #nextCollection = Number.POSITIVE_INFINITY

  constructor(spec: SetSpec) {
    this.spec = spec
    this.store = storeFor(spec)
  }

  /** The maximum number of elements; a range of single numbers counts twice. */
  get capacity(): number {
    const { size } = this.spec
    if (!size) return Number.POSITIVE_INFINITY
    return this.store instanceof RangeBounds ? 2 * size : size
  }

  get keyLength(): number {
    return lengthOf(this.spec.key)
  }

  get dataLength(): number {
    const { data } = this.spec
    return data === undefined || data === 'verdict' ? 0 : lengthOf(data)
  }

  /** Whether rules may add elements: this is not possible for ranges and for tables with a fixed size. */
  get takesUpdates(): boolean {
    const { isInterval, isDynamic, hasTimeouts, size } = this.spec
    if (isInterval) return false
    return isDynamic === true || hasTimeouts === true || !size
  }

  /** Counts, for each chain, the elements that lead to it. */
  count(chain: string, by: 1 | -1): void {
    const now = (this.targets.get(chain) ?? 0) + by
    if (now > 0) this.targets.set(chain, now)
    else this.targets.delete(chain)
  }

  insert(held: HeldElement): void {
    this.store.insert(held)
    this.expire(held)
  }

  /** Records when the element expires. */
  expire({ expiresAt = Number.POSITIVE_INFINITY }: HeldElement): void {
    this.#nextCollection = Math.min(this.#nextCollection, expiresAt + COLLECT_MS)
  }

  /** Removes the elements that the kernel has collected by now. */
  collect(now: number): readonly HeldElement[] {
    if (now < this.#nextCollection) return []
    const gone = [...this.store.all()].filter((one) => isExpired(one, now - COLLECT_MS))
    for (const held of gone) this.store.remove(held)
    this.#nextCollection = Number.POSITIVE_INFINITY
    for (const held of this.store.all()) this.expire(held)
    return gone
  }

  /** The errno for creating the set again with this description. */
  compare(spec: SetSpec): number {
    return formOf(spec) === formOf(this.spec) ? 0 : EEXIST
  }

  /** As `Nftables.elements` shows it. */
  read(held: HeldElement, now: number): Element {
    const { element, timeout, expiresAt } = held
    return {
      ...element,
      ...(timeout > 0 ? { timeout } : {}),
      ...(expiresAt === undefined ? {} : { expires: Math.max(0, expiresAt - now) }),
      ...(this.spec.hasCounters ? { counter: { packets: 0n, bytes: 0n } } : {}),
    }
  }
}

/** The errno for creating a set with this description. */
export function checkSet({ key, data, isInterval, isDynamic }: SetSpec): number {
  if (!isLength(lengthOf(key))) return EINVAL
  if (data !== undefined && data !== 'verdict' && !isLength(lengthOf(data))) return EINVAL
  if (isInterval && key.length > MAX_FIELDS) return EINVAL
  return isInterval && isDynamic ? EOPNOTSUPP : 0
}

function isLength(bytes: number): boolean {
  return bytes > 0 && bytes <= MAX_BYTES
}

function storeFor({ key, isInterval }: SetSpec): ElementStore {
  if (!isInterval) return new SingleKeys()
  return key.length > 1 ? new FieldRanges(key) : new RangeBounds()
}

/** The parts of a set that the kernel compares with those of an equal name: all but size and comment. */
function formOf({ key, data, isInterval, isDynamic, hasTimeouts, hasCounters }: SetSpec): string {
  return JSON.stringify([key, data, !!isInterval, !!isDynamic, !!hasTimeouts, !!hasCounters])
}
