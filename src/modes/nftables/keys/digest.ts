import type { ChainSpec, Element, Rule, SetSpec } from '../../../kernel/nftables/objects.ts'
import type { Verdict } from '../../../kernel/nftables/verdict.ts'
import { contentHash } from '../../../lib/hash.ts'
import type { Digest } from '../../mode.ts'

/** An element with the set or map in which it is. */
export interface PlacedElement {
  readonly set: string
  readonly element: Element
}

const MODULUS = 2 ** 52

/** The digest of an object without elements, and of a table. */
export const EMPTY = 0 as Digest

/**
 * The digest of one element; what only reading shows (counters, time that is left) does not count. There are
 * hundreds of thousands of elements, so it is 52 bits of two 32-bit hashes over bytes, without a text between.
 */
export function digestOfElement(placed: PlacedElement): Digest {
  const high = hashOfElement(placed, 0x2545_f491)
  const low = hashOfElement(placed, 0x1b56_c4e9)
  return ((high >>> 0) * 2 ** 20 + (low >>> 12)) as Digest
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
  return finished(hash)
}

/** What follows in a hash, so that an absent part differs from an empty one. */
const [KEY_END, DATA, VERDICT, CHAIN, TIMEOUT, COMMENT] = [1, 2, 3, 4, 5, 6] as const

function withVerdict(hash: number, verdict: Verdict): number {
  const kind = withText(mixed(hash, VERDICT), verdict.kind)
  return 'chain' in verdict ? withText(mixed(kind, CHAIN), verdict.chain) : kind
}

function withBytes(hash: number, bytes: Buffer): number {
  let result = mixed(hash, bytes.length)
  for (let at = 0; at < bytes.length; at += 4) {
    const upper = bytes[at]! | (bytes[at + 1]! << 8)
    result = mixed(result, upper | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
  }
  return result
}

function withText(hash: number, text: string): number {
  let result = mixed(hash, text.length)
  for (let at = 0; at < text.length; at++) result = mixed(result, text.charCodeAt(at))
  return result
}

/** A step of MurmurHash3 (32 bits, public domain). */
function mixed(hash: number, word: number): number {
  const scrambled = Math.imul(word, 0xcc9e_2d51)
  const rotated = Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b87_3593)
  const next = hash ^ rotated
  return (Math.imul((next << 13) | (next >>> 19), 5) + 0xe654_6b64) | 0
}

/** The last step of MurmurHash3: every bit of the sum decides every bit of the result. */
function finished(hash: number): number {
  const first = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2_ae35)
  return second ^ (second >>> 16)
}

/** The digest of several parts of one object, in any order: one more part can be added to it. */
export function sumOf(digests: Iterable<Digest>): Digest {
  let sum = 0
  for (const digest of digests) sum = (sum + digest) % MODULUS
  return sum as Digest
}

/** The digest of elements, wanted or read, in any order. */
export function digestOf(elements: Iterable<PlacedElement>): Digest {
  let sum = 0
  for (const one of elements) sum = (sum + digestOfElement(one)) % MODULUS
  return sum as Digest
}

/** Of the description of a set; elements that belong to the same object are added by `sumOf`. */
export function digestOfSet(spec: SetSpec): Digest {
  return contentHash(textOf(spec)) as Digest
}

export function digestOfChain(spec: ChainSpec, rules: readonly Rule[]): Digest {
  return contentHash(textOf({ hook: spec.hook, rules })) as Digest
}

/** The same text for the same content, whatever the order of its fields; an absent field is an undefined one. */
function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return `<${value.toString('hex')}>`
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  const sorted = fields.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, field]) => `${name}:${textOf(field)}`).join(',')}}`
}
