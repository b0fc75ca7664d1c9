import type { Element } from '../objects.ts'

/** An element as the fake kernel holds it. */
export interface HeldElement {
  /** Without `expires` and `timeout`, which change. */
  readonly element: Element
  /** It only ends the range before it: the first key behind that range. */
  readonly endsRange: boolean
  /** Milliseconds; 0: it stays. */
  timeout: number
  /** By the clock of the fake kernel; undefined: it stays. */
  expiresAt: number | undefined
}

/** The elements of one set, as one of the kernel's three structures for sets holds them. */
export interface ElementStore {
  /** What is in the way of a new element: the same one, or one with a part of its keys. */
  conflict(wanted: HeldElement, now: number): HeldElement | 'overlap' | undefined
  /** The element that a deletion means. */
  toDelete(wanted: HeldElement, now: number): HeldElement | undefined
  /** The element that a packet with this key finds. */
  match(key: Buffer, now: number): HeldElement | undefined
  insert(held: HeldElement): void
  remove(held: HeldElement): void
  all(): Iterable<HeldElement>
  /** Also of those whose time is over. */
  readonly count: number
}

export function isExpired({ expiresAt }: HeldElement, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}
