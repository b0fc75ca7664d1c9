import { type ElementStore, type HeldElement, isExpired } from './element-store.ts'

/**
 * Ranges of single numbers: a sorted list of first keys and of keys after the last ones, which the kernel stores as
 * separate elements (net/netfilter/nft_set_rbtree.c). It detects an overlap only by the nearest elements, so a range
 * without an end may include others, and a range that ends where another one ends may include that one.
 */
export class RangeBounds implements ElementStore {
  /** Ascending; for equal keys the end of a range comes before the beginning of another. */
  readonly #bounds: HeldElement[] = []

  get count(): number {
    return this.#bounds.length
  }

  conflict(wanted: HeldElement, now: number): HeldElement | 'overlap' | undefined {
    const active = this.#bounds.filter((one) => !isExpired(one, now))
    const same = active.find((one) => compare(one, wanted) === 0)
    if (same) return same
    const below = active.findLast((one) => compare(one, wanted) < 0)
    const above = active.find((one) => compare(one, wanted) > 0)
    if (below?.endsRange === wanted.endsRange) return 'overlap'
    return wanted.endsRange && above?.endsRange === true ? 'overlap' : undefined
  }

  toDelete(wanted: HeldElement, now: number): HeldElement | undefined {
    return this.#bounds.find((one) => compare(one, wanted) === 0 && !isExpired(one, now))
  }

  match(key: Buffer, now: number): HeldElement | undefined {
    const nearest = this.#bounds.findLast(
      (one) => one.element.key.compare(key) <= 0 && !isExpired(one, now),
    )
    return nearest?.endsRange === true ? undefined : nearest
  }

  insert(held: HeldElement): void {
    const at = this.#bounds.findIndex((one) => compare(one, held) > 0)
    this.#bounds.splice(at < 0 ? this.#bounds.length : at, 0, held)
  }

  remove(held: HeldElement): void {
    const at = this.#bounds.indexOf(held)
    if (at >= 0) this.#bounds.splice(at, 1)
  }

  all(): Iterable<HeldElement> {
    return this.#bounds.values()
  }
}

function compare(a: HeldElement, b: HeldElement): number {
  return a.element.key.compare(b.element.key) || Number(b.endsRange) - Number(a.endsRange)
}
