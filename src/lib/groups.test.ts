import { expect, test } from 'vitest'
import { inGroups } from './groups.ts'

test('every item is in one group, in order, and no group is empty', () => {
  expect([...inGroups([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]])
  expect([...inGroups([1, 2], 2)]).toEqual([[1, 2]])
  expect([...inGroups([], 2)]).toEqual([])
})
