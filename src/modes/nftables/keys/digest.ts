import type { ChainSpec, Element, Rule, SetSpec } from '../../../kernel/nftables/objects.ts'
import type { Verdict } from '../../../kernel/nftables/verdict.ts'
import type { Digest } from '../../mode.ts'
import { finished, mixed, withBytes, withText, withValue } from './structural-hash.ts'

/** An element with the set or map in which it is. */
export interface PlacedElement {
  readonly set: string
  readonly element: Element
}

const MODULUS = 2 ** 52

/** The digest of an object without elements, and of a table. */
export const EMPTY = 0 as Digest

/**
 * 52 bits of two 32-bit hashes of the same content. They guard against chance, not against an attacker: who could
 * choose the elements of a frontend so that their digests collide controls what the frontend leads to anyway.
 */
function digestBy(hashFrom: (seed: number) => number): Digest {
  const high = finished(hashFrom(0x2545_f491)) >>> 0
  const low = finished(hashFrom(0x1b56_c4e9)) >>> 12
  return (high * 2 ** 20 + low) as Digest
}

/** The digest of one element; what only reading shows (counters, time that is left) does not count. */
export function digestOfElement(placed: PlacedElement): Digest {
  return digestBy((seed) => hashOfElement(placed, seed))
}

function hashOfElement({ set, element }: PlacedElement, seed: number): number {
  const { key, keyEnd, data, timeout, comment } = element
  let hash = withBytes(withText(seed, set), key)
  if (keyEnd !== undefined) hash = withBytes(mixed(hash, KEY_END), keyEnd)
  if (data !== undefined) {
    hash = Buffer.isBuffer(data) ? withBytes(mixed(hash, DATA), data) : withVerdict(hash, data)
  }
  if (timeout) hash = mixed(mixed(hash, TIMEOUT), timeout)
  if (comment) hash = withText(mixed(hash, COMMENT), comment)
  return hash
}

/** What follows in a hash, so that an absent part differs from an empty one. */
const [KEY_END, DATA, VERDICT, CHAIN, TIMEOUT, COMMENT] = [1, 2, 3, 4, 5, 6] as const

function withVerdict(hash: number, verdict: Verdict): number {
  const kind = withText(mixed(hash, VERDICT), verdict.kind)
  return 'chain' in verdict ? withText(mixed(kind, CHAIN), verdict.chain) : kind
}

/** The digest of several parts of one object, in any order: one more part can be added to it. */
export function sumOf(digests: Iterable<Digest>): Digest {
  let sum = 0
  for (const digest of digests) sum = (sum + digest) % MODULUS
  return sum as Digest
}

/** The digest of elements, wanted or read, in any order. */
export function digestOf(elements: Iterable<PlacedElement>): Digest {
  return sumOf(Iterator.from(elements).map(digestOfElement))
}

/** Of the description of a set; elements that belong to the same object are added by `sumOf`. */
export function digestOfSet(spec: SetSpec): Digest {
  return digestBy((seed) => withValue(seed, spec))
}

export function digestOfChain({ hook }: ChainSpec, rules: readonly Rule[]): Digest {
  return digestBy((seed) => withValue(seed, { hook, rules }))
}
