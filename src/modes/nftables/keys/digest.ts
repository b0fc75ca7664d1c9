import type { ChainSpec, Element, Rule, SetSpec } from '../../../kernel/nftables/objects.ts'
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

/** The digest of one element; what only reading shows (counters, time that is left) does not count. */
export function digestOfElement({ set, element }: PlacedElement): Digest {
  const { key, keyEnd, data, timeout, comment } = element
  const parts = [
    set,
    key.toString('latin1'),
    keyEnd?.toString('latin1') ?? '',
    data === undefined ? '' : Buffer.isBuffer(data) ? data.toString('latin1') : textOf(data),
    timeout ? String(timeout) : '',
    comment ?? '',
  ]
  return contentHash(parts.map((part) => `${part.length}:${part}`).join('')) as Digest
}

/** The digest of several parts of one object, in any order: one more part can be added to it. */
export function sumOf(digests: Iterable<Digest>): Digest {
  let sum = 0
  for (const digest of digests) sum = (sum + digest) % MODULUS
  return sum as Digest
}

/** The digest of elements, wanted or read, in any order. */
export function digestOf(elements: Iterable<PlacedElement>): Digest {
  let sum = EMPTY
  for (const one of elements) sum = sumOf([sum, digestOfElement(one)])
  return sum
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
