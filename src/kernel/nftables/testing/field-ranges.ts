import { align } from '../../netlink/message.ts'
import type { Element, FieldType } from '../objects.ts'
import { fieldBytes } from '../user-data.ts'
import { type ElementStore, type HeldElement, isExpired } from './element-store.ts'

interface Field {
  readonly start: number
  readonly end: number
}

/**
 * Elements with a range in each field (net/netfilter/nft_set_pipapo.c). The kernel detects an overlap only at the
 * first and the last key of a new element, and deletes the element that contains the first key.
 */
export class FieldRanges implements ElementStore {
  readonly #fields: readonly Field[]
  readonly #held = new Set<HeldElement>()

  constructor(types: readonly FieldType[]) {
    let at = 0
    this.#fields = types.map((type) => {
      const start = at
      at += align(fieldBytes(type))
      return { start, end: start + fieldBytes(type) }
    })
  }

  get count(): number {
    return this.#held.size
  }

  conflict(wanted: HeldElement, now: number): HeldElement | 'overlap' | undefined {
    const { element } = wanted
    const there = this.match(element.key, now)
    if (there && isSame(there.element, element)) return there
    return (there ?? this.match(lastKey(element), now)) ? 'overlap' : undefined
  }

  toDelete({ element }: HeldElement, now: number): HeldElement | undefined {
    return this.match(element.key, now)
  }

  match(key: Buffer, now: number): HeldElement | undefined {
    for (const held of this.#held) {
      if (!isExpired(held, now) && this.#includes(held.element, key)) return held
    }
    return undefined
  }

  /** Whether a field ends before it begins. */
  isReversed(element: Element): boolean {
    const end = lastKey(element)
    return this.#fields.some((field) => compareAt(element.key, end, field) > 0)
  }

  insert(held: HeldElement): void {
    this.#held.add(held)
  }

  remove(held: HeldElement): void {
    this.#held.delete(held)
  }

  all(): Iterable<HeldElement> {
    return this.#held
  }

  #includes(element: Element, key: Buffer): boolean {
    const end = lastKey(element)
    return this.#fields.every(
      (field) => compareAt(element.key, key, field) <= 0 && compareAt(key, end, field) <= 0,
    )
  }
}

function lastKey({ key, keyEnd }: Element): Buffer {
  return keyEnd ?? key
}

function isSame(a: Element, b: Element): boolean {
  return a.key.equals(b.key) && lastKey(a).equals(lastKey(b))
}

function compareAt(a: Buffer, b: Buffer, { start, end }: Field): number {
  return a.compare(b, start, end, start, end)
}
