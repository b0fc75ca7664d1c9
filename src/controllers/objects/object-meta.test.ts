import { expect, test } from 'vitest'
import { byAge, type ObjectMeta } from './object-meta.ts'

function object(createdAt: string, key: string) {
  return { meta: { createdAt, key } as ObjectMeta }
}

test('sorts older objects first, and by key when a time is equal or unknown', () => {
  const [old, first, second] = [
    object('2026-01-01T00:00:00Z', 'shop/z'),
    object('2026-01-02T00:00:00Z', 'shop/a'),
    object('2026-01-02T00:00:00Z', 'shop/b'),
  ]
  expect([second, first, old].toSorted(byAge)).toEqual([old, first, second])
  expect(byAge(object('', 'shop/a'), second)).toBeLessThan(0)
  expect(byAge(second, object('', 'shop/a'))).toBeGreaterThan(0)
})
