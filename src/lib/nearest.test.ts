import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance, nearest } from './nearest.ts'

describe('nearest', () => {
  it.each([
    ['syncPeroid', 'syncPeriod'],
    ['SyncPeriod', 'syncPeriod'],
    ['masqueradeal', 'masqueradeAll'],
    ['completelyDifferent', undefined],
    ['', undefined],
    ['x', undefined],
  ])('%s is meant as %s', (word, meant) => {
    expect(nearest(word, ['minSyncPeriod', 'syncPeriod', 'masqueradeAll', 'masqueradeBit'])).toBe(
      meant,
    )
  })

  it('does no work for absurdly long words', () => {
    expect(nearest('a'.repeat(65), ['a'.repeat(65)])).toBeUndefined()
  })
})

describe('editDistance', () => {
  it.each([
    ['', '', 0],
    ['abc', '', 3],
    ['abc', 'abd', 1],
    ['abc', 'acb', 1],
    ['kitten', 'sitting', 3],
  ])('%j → %j is %d', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance)
  })

  it('is symmetric, zero for equals, and at most the longer length', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a))
        expect(editDistance(a, a)).toBe(0)
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length))
      }),
    )
  })
})
