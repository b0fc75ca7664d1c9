import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countsPerZone } from './zone-hints.ts'

type Numbers = Readonly<Record<string, number>>

function counted(capacity: Numbers, own: Numbers): Numbers | undefined {
  const counts = countsPerZone(new Map(Object.entries(capacity)), new Map(Object.entries(own)))
  return counts && Object.fromEntries(counts)
}

const EQUAL = { a: 4000, b: 4000, c: 4000 }

test.each<[string, Numbers, Numbers, Numbers | undefined]>([
  ['one for each zone', EQUAL, { a: 1, b: 1, c: 1 }, { a: 1, b: 1, c: 1 }],
  ['all in one zone', EQUAL, { a: 9 }, { a: 3, b: 3, c: 3 }],
  [
    'in proportion',
    { a: 1000, b: 2000, c: 3000 },
    { a: 20, b: 20, c: 20 },
    { a: 10, b: 20, c: 30 },
  ],
  ['one more than its share stays', EQUAL, { a: 3, b: 4, c: 3 }, { a: 3, b: 4, c: 3 }],
  ['one too many, one too few: it moves', EQUAL, { a: 19, b: 20, c: 21 }, { a: 20, b: 20, c: 20 }],
  ['half of one too many and too few stays', { a: 1, b: 1 }, { a: 21, b: 20 }, { a: 21, b: 20 }],
  ['wherever that is', { a: 1, b: 1 }, { a: 20, b: 21 }, { a: 20, b: 21 }],
  ['a zone without nodes gives all', { a: 1, b: 1 }, { a: 3, b: 3, x: 4 }, { a: 5, b: 5 }],
  ['endpoints of unknown zones are shared out too', { a: 1, b: 1 }, { '': 4 }, { a: 2, b: 2 }],
  ['a small zone has one', { a: 100, b: 9900 }, { b: 20 }, { a: 1, b: 19 }],
  ['two of three: one would carry 50 % more', EQUAL, { a: 2 }, undefined],
  ['four of three: one would carry a third more', EQUAL, { a: 2, b: 1, c: 1 }, undefined],
  ['five of three: one would carry two thirds more', EQUAL, { a: 2, b: 2, c: 1 }, undefined],
  ['one large zone of two endpoints', { a: 9000, b: 1000 }, { a: 1, b: 1 }, undefined],
  ['exactly 20 % more is allowed', { a: 3000, b: 2000 }, { a: 1, b: 1 }, { a: 1, b: 1 }],
  ['a thousandth more is not', { a: 3001, b: 1999 }, { a: 1, b: 1 }, undefined],
])('%s', (_, capacity, own, expected) => {
  expect(counted(capacity, own)).toEqual(expected)
})

const zone = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const state = fc.record({
  capacity: fc.dictionary(zone, fc.integer({ min: 1, max: 1e9 }), { minKeys: 2 }),
  own: fc.dictionary(zone, fc.nat({ max: 300 }), { minKeys: 1 }),
})

const total = (numbers: Numbers): number => Object.values(numbers).reduce((a, b) => a + b, 0)

describe('whatever the zones and their endpoints', () => {
  test('every endpoint is counted, and no zone is overloaded by more than 20 %', () => {
    fc.assert(
      fc.property(state, ({ capacity, own }) => {
        const counts = counted(capacity, own)
        fc.pre(counts !== undefined && total(own) > 0)
        expect(total(counts)).toBe(total(own))
        for (const [name, cpu] of Object.entries(capacity)) {
          const share = (cpu / total(capacity)) * total(own)
          expect(counts[name]).toBeGreaterThanOrEqual(1)
          expect(share / counts[name]!).toBeLessThanOrEqual(1.2 + 1e-9)
        }
      }),
    )
  })

  test('there are counts whenever the minima of 20 % fit into the endpoints', () => {
    fc.assert(
      fc.property(state, ({ capacity, own }) => {
        fc.pre(total(own) > 0)
        const least = Object.values(capacity).map((cpu) => {
          const share = (BigInt(cpu) * BigInt(total(own)) * 5n) / (BigInt(total(capacity)) * 6n)
          const isExact =
            share * BigInt(total(capacity)) * 6n === BigInt(cpu) * BigInt(total(own)) * 5n
          return Number(share) + (isExact ? 0 : 1)
        })
        const fits = least.reduce((a, b) => a + b, 0) <= total(own)
        expect(counted(capacity, own) !== undefined).toBe(fits)
      }),
    )
  })

  test('a zone has no more than two endpoints beside its share, where no minimum needs them', () => {
    fc.assert(
      fc.property(state, ({ capacity, own }) => {
        const counts = counted(capacity, own)
        fc.pre(counts !== undefined && total(own) > 0)
        for (const [name, count] of Object.entries(counts)) {
          const share = (capacity[name]! / total(capacity)) * total(own)
          expect(count).toBeLessThan(share + 2)
        }
      }),
    )
  })

  test('one endpoint more or less changes few counts, however many endpoints there are', () => {
    fc.assert(
      fc.property(state, zone, ({ capacity, own }, where) => {
        const before = counted(capacity, own)
        const after = counted(capacity, { ...own, [where]: (own[where] ?? 0) + 1 })
        fc.pre(before !== undefined && after !== undefined && total(own) > 0)
        const moved = Object.keys(before).map((name) => Math.abs(before[name]! - after[name]!))
        expect(moved.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(2 * moved.length)
      }),
    )
  })
})
