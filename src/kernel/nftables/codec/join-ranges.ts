import type { Element } from '../objects.ts'
import type { ReadElement } from './element-codec.ts'

/**
 * Ranges of single numbers, which the kernel has as two elements: the first number, and the number behind the last one.
 * A range without an end goes up to the largest number. An end without a beginning, as the one at 0 that nft writes, is
 * left out.
 */
export function joinRanges(halves: readonly ReadElement[]): readonly Element[] {
  const sorted = halves.toSorted(
    (a, b) => a.element.key.compare(b.element.key) || Number(b.endsRange) - Number(a.endsRange),
  )
  const ranges: Element[] = []
  for (const [index, { element, endsRange }] of sorted.entries()) {
    if (endsRange) continue
    const next = sorted[index + 1]
    const keyEnd = next ? previous(next.element.key) : Buffer.alloc(element.key.length, 0xff)
    ranges.push({ ...element, keyEnd })
  }
  return ranges
}

function previous(key: Buffer): Buffer {
  const bytes = Buffer.from(key)
  let at = bytes.length - 1
  while (at >= 0 && bytes[at] === 0) bytes[at--] = 0xff
  if (at >= 0) bytes[at] = (bytes[at] ?? 0) - 1
  return bytes
}
