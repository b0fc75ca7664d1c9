import { expect, test } from 'vitest'
import { keyOf } from '../keys/object-key.ts'
import { Suspects } from './managed-state.ts'

const A = keyOf(4, 'frontend', '10.96.0.1:80/TCP')
const B = keyOf(4, 'frontend', '10.96.0.2:80/TCP')
const placed = (last: number) => ({
  set: 'services',
  element: { key: Buffer.from([last]) },
})

test('the elements of an object are taken once', () => {
  const suspects = new Suspects()
  expect([placed(1), placed(2)].map((one) => suspects.add(A, one))).toEqual([true, true])
  suspects.add(B, placed(3))
  expect(suspects.take(A)).toEqual([placed(1), placed(2)])
  expect(suspects.take(A)).toEqual([])
  expect(suspects.take(B)).toEqual([placed(3)])
})

test('of more than 5,000 none is kept; those that were taken do not count', () => {
  const suspects = new Suspects()
  suspects.add(B, placed(3))
  suspects.take(B)
  for (let count = 0; count < 5_000; count++) expect(suspects.add(A, placed(1))).toBe(true)
  expect(suspects.add(B, placed(1))).toBe(false)
  expect(suspects.take(A)).toEqual([])
  expect(suspects.add(B, placed(1))).toBe(true)
})
