import type { Element } from '../objects.ts'

/** An element as the fake kernel holds it. */
export interface HeldElement {
  /** The element without `expires` and `timeout`, which change. */
  readonly element: Element
  /** Whether it only ends the range before it: the first key after that range. */
  readonly endsRange: boolean
  /** Milliseconds; 0: it does not expire. */
  timeout: number
  /** By the clock of the fake kernel; undefined: it does not expire. */
  expiresAt: number | undefined
}

/** The elements of one set, as one of the kernel's three structures for sets holds them. */
export interface ElementStore {
  /** The element that conflicts with a new one: an equal one, or `overlap` with a part of its keys. */
  conflict(wanted: HeldElement, now: number): HeldElement | 'overlap' | undefined
  /** The element that a deletion refers to. */
  toDelete(wanted: HeldElement, now: number): HeldElement | undefined
  /** The element that a packet with this key finds. */
  match(key: Buffer, now: number): HeldElement | undefined
  insert(held: HeldElement): void
  remove(held: HeldElement): void
  all(): Iterable<HeldElement>
  /** The number of elements, including expired ones. */
  readonly count: number
}

export function isExpired({ expiresAt }: HeldElement, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}
