import { expect, test } from 'vitest'
import { timestamp } from './timestamp.ts'

test('whole seconds in UTC', () => {
  expect(timestamp(Date.UTC(2026, 1, 3, 4, 5, 6, 999))).toBe('2026-02-03T04:05:06Z')
})
