import type { Brand } from '../../../lib/brand.ts'
import type { Verdict } from '../expression.ts'
import type { ChainSpec, Element, Rule, SetSpec } from '../objects.ts'

/** Type tags in a hash: what kind of value follows. */
const [TEXT, NUMBER, BOOLEAN, BYTES, OBJECT, UNDEFINED] = [11, 12, 13, 14, 15, 16] as const

/** An element with the set or map in which it is. */
export interface PlacedElement {
  readonly set: string
  readonly element: Element
}

/** 52 bits; the same type as the digest of a mode's objects. */
export type Digest = Brand<number, 'Digest'>

const MODULUS = 2 ** 52

/** The digest of an object without elements, and of a table. */
export const EMPTY = 0 as Digest

/**
 * 52 bits of two 32-bit hashes of the same content. They protect against chance, not against an attacker: whoever can
 * choose the elements of a frontend so that their digests collide controls its destinations anyway.
 */
function digestBy(hashFrom: (seed: number) => number): Digest {
  const high = finished(hashFrom(0x2545_f491)) >>> 0
  const low = finished(hashFrom(0x1b56_c4e9)) >>> 12
  return (high * 2 ** 20 + low) as Digest
}

/** The digest of one element, without what only appears when reading (counters, remaining time). */
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

/** Part tags in a hash, so that an absent part differs from an empty one. */
const [KEY_END, DATA, VERDICT, CHAIN, TIMEOUT, COMMENT] = [1, 2, 3, 4, 5, 6] as const

function withVerdict(hash: number, verdict: Verdict): number {
  const kind = withText(mixed(hash, VERDICT), verdict.kind)
  return 'chain' in verdict ? withText(mixed(kind, CHAIN), verdict.chain) : kind
}

/** The digest of several parts of one object, in any order; the digest of another part can be added to the result. */
export function sumOf(digests: Iterable<Digest>): Digest {
  let sum = 0
  for (const digest of digests) sum = (sum + digest) % MODULUS
  return sum as Digest
}

/** The digest of elements, wanted or read, in any order. */
export function digestOf(elements: Iterable<PlacedElement>): Digest {
  return sumOf(Iterator.from(elements).map(digestOfElement))
}

/** The digest of a set's description; elements that belong to the same object are added by `sumOf`. */
export function digestOfSet(spec: SetSpec): Digest {
  return digestBy((seed) => withValue(seed, spec))
}

export function digestOfChain({ hook }: ChainSpec, rules: readonly Rule[]): Digest {
  return digestBy((seed) => withValue(seed, { hook, rules }))
}

/**
 * 32-bit hashes of bytes, texts and plain objects, computed step by step without an intermediate text, because there
 * are hundreds of thousands of elements. The steps are those of MurmurHash3 (32 bits, public domain).
 */
function mixed(hash: number, word: number): number {
  const scrambled = Math.imul(word, 0xcc9e_2d51)
  const rotated = Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b87_3593)
  const next = hash ^ rotated
  return (Math.imul((next << 13) | (next >>> 19), 5) + 0xe654_6b64) | 0
}

/** The last step: every bit of the hash influences every bit of the result. */
export function finished(hash: number): number {
  const first = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2_ae35)
  return second ^ (second >>> 16)
}

export function withBytes(hash: number, bytes: Buffer): number {
  let result = mixed(hash, bytes.length)
  for (let at = 0; at < bytes.length; at += 4) {
    const lower = bytes[at]! | (bytes[at + 1]! << 8)
    result = mixed(result, lower | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
  }
  return result
}

function withText(hash: number, text: string): number {
  let result = mixed(hash, text.length)
  for (let at = 0; at < text.length; at++) result = mixed(result, text.charCodeAt(at))
  return result
}

/**
 * Hashes texts, booleans, integers below 2⁵³, buffers, arrays and objects of these. The order of the fields of an
 * object does not count, and an absent field equals an undefined one. Throws TypeError for anything else.
 */
export function withValue(hash: number, value: unknown): number {
  if (typeof value === 'string') return withText(mixed(hash, TEXT), value)
  if (typeof value === 'number') {
    return mixed(mixed(mixed(hash, NUMBER), value | 0), Math.floor(value / 2 ** 32))
  }
  if (typeof value === 'boolean') return mixed(mixed(hash, BOOLEAN), value ? 1 : 0)
  if (value === undefined) return mixed(hash, UNDEFINED)
  if (Buffer.isBuffer(value)) return withBytes(mixed(hash, BYTES), value)
  if (Array.isArray(value)) return value.reduce(withValue, mixed(hash, value.length))
  if (typeof value === 'object' && value !== null) {
    return mixed(mixed(hash, OBJECT), sumOfFields(value))
  }
  throw new TypeError(`no hash of a value of type ${typeof value}`)
}

/** A sum, so that the order of the fields does not count. */
function sumOfFields(value: object): number {
  let sum = 0
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined) sum = (sum + finished(withValue(withText(0, name), field))) | 0
  }
  return sum
}
