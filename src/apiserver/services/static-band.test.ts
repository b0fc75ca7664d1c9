import { expect, test } from 'vitest'
import { AllocationPool } from './allocation-pool.ts'
import { ADDRESS_BAND, PORT_BAND, staticBand } from './static-band.ts'

test.each([
  [15, ADDRESS_BAND, 0],
  [16, ADDRESS_BAND, 16],
  [254, ADDRESS_BAND, 16],
  [65_534, ADDRESS_BAND, 256],
  [2768, PORT_BAND, 86],
  [20, PORT_BAND, 16],
  [65_536, PORT_BAND, 128],
])('of %d in %j, %d are left to those who ask', (size, limits, expected) => {
  expect(staticBand(size, limits)).toBe(expected)
})

test('the band is used when the rest is full, and never more than there is', () => {
  const pool = new AllocationPool({ below: () => 0, uuid: () => '' })
  const taken = new Set<number>()
  const isFree = (index: number): boolean => !taken.has(index)
  const chosen = Array.from({ length: 5 }, () => {
    const index = pool.choose(4, isFree, 2)
    if (index !== undefined) taken.add(index)
    return index
  })
  expect(chosen).toEqual([2, 3, 0, 1, undefined])
})
