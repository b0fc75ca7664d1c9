import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EntryId, Protocol } from '../../../forwarding/entry.ts'
import { routingBit } from '../../netfilter/mark.ts'
import {
  isShortCircuitMark,
  MarkBook,
  type MarkPattern,
  markOf,
  markPattern,
  protocolOf,
} from './short-circuit-mark.ts'

const id = (name: string, protocol: Protocol = 'TCP') =>
  `shop/${name}:http/${protocol}/4` as EntryId
const masqueradeBits = Array.from({ length: 32 }, (_, bit) => bit)

test.each(masqueradeBits)('beside masquerade bit %i', (masqueradeBit) => {
  const pattern = markPattern({ masqueradeBit })
  for (const protocol of ['TCP', 'UDP', 'SCTP'] as const) {
    for (let n = 0; n < 50; n++) {
      const mark = markOf(id(`s${n}`, protocol), n % 3, pattern)
      expect(mark).toSatisfy((value: number) => Number.isInteger(value) && value > 0)
      expect(mark).toBeLessThan(2 ** 32)
      expect(mark & (2 ** masqueradeBit)).toBe(0)
      expect(mark & routingBit({ masqueradeBit })).toBe(0)
      expect(isShortCircuitMark(mark, pattern)).toBe(true)
      expect(protocolOf(mark, pattern)).toBe(protocol)
    }
  }
})

test('the pattern with the usual masquerade bit, by which an upgraded daemon knows the marks', () => {
  const pattern = markPattern({ masqueradeBit: 14 })
  expect(pattern).toEqual({ mask: 0x70ff, value: 0x10a5, protocolBits: [8, 9] })
  expect(markOf(id('cart'), 0, pattern).toString(16)).toBe('f9079ca5')
})

test('marks of others are not ours', () => {
  const pattern = markPattern({ masqueradeBit: 14 })
  const mark = markOf(id('cart'), 0, pattern)
  for (const bit of masqueradeBits.filter((each) => (pattern.mask >>> each) & 1)) {
    expect(isShortCircuitMark((mark ^ (2 ** bit)) >>> 0, pattern)).toBe(false)
  }
  for (const foreign of [0, 1, 0x4000, 0x8000, 0xffff_ffff]) {
    expect(isShortCircuitMark(foreign, pattern)).toBe(false)
  }
})

test('ten thousand Services have ten thousand marks', () => {
  const book = new MarkBook(markPattern({ masqueradeBit: 14 }))
  const ids = Array.from({ length: 10_000 }, (_, n) => id(`s${n}`))
  for (const one of ids) book.assign(one)
  expect(new Set(ids.map((one) => book.of(one))).size).toBe(10_000)
})

/** Three bits are left: eight marks for each protocol. */
const narrow: MarkPattern = { mask: 0xffff_ffe0, value: 0xa5a5_a5a0, protocolBits: [3, 4] }
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

/** What every id has when they come in this order. */
function marksOf(ids: Iterable<EntryId>): ReadonlyMap<EntryId, number | undefined> {
  const book = new MarkBook(narrow)
  const all = [...ids]
  for (const one of all) book.assign(one)
  return new Map(all.map((one) => [one, book.of(one)]))
}

test('of entries that want the same mark the first by id has it', () => {
  const rivals = names
    .map((name) => id(name))
    .filter((one) => markOf(one, 0, narrow) === markOf(id('a'), 0, narrow))
  expect(rivals.length).toBeGreaterThan(1)
  const [first, second] = rivals as [EntryId, EntryId]
  const book = new MarkBook(narrow)
  book.assign(second)
  expect(book.of(second)).toBe(markOf(second, 0, narrow))
  expect(book.assign(first)).toEqual([second])
  expect(book.of(first)).toBe(markOf(first, 0, narrow))
  expect(book.of(second)).not.toBe(book.of(first))
  expect(book.release(first)).toEqual([second])
  expect(book.of(second)).toBe(markOf(second, 0, narrow))
  expect(book.of(first)).toBeUndefined()
})

test('any history ends with the marks of those who are there, and returns whose changed', () => {
  const step = fc.record({ name: fc.constantFrom(...names), isGone: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (history) => {
      const book = new MarkBook(narrow)
      const present = new Set<EntryId>()
      for (const { name, isGone } of history) {
        const one = id(name)
        const before = new Map([...present].map((other) => [other, book.of(other)]))
        const returned = isGone ? book.release(one) : book.assign(one)
        if (isGone) present.delete(one)
        else present.add(one)
        const changed = [...before].filter(
          ([other, mark]) => other !== one && book.of(other) !== mark,
        )
        expect(returned.toSorted()).toEqual(changed.map(([other]) => other).toSorted())
        const now = new Map([...present].map((other) => [other, book.of(other)]))
        expect(now).toEqual(marksOf(present))
        expect(now).toEqual(marksOf([...present].toSorted().toReversed()))
        expect(new Set(now.values()).size).toBe(present.size)
      }
    }),
    { numRuns: 300 },
  )
})
