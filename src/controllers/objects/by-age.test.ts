import { expect, test } from 'vitest'
import { byAge } from './by-age.ts'
import type { ObjectMeta } from './object-meta.ts'

function born(createdAt: string, key: string) {
  return { meta: { createdAt, key } as ObjectMeta }
}

test('the older comes first, of the same second or of no known time the smaller key', () => {
  const [old, first, second] = [
    born('2026-01-01T00:00:00Z', 'shop/z'),
    born('2026-01-02T00:00:00Z', 'shop/a'),
    born('2026-01-02T00:00:00Z', 'shop/b'),
  ]
  expect([second, first, old].toSorted(byAge)).toEqual([old, first, second])
  expect(byAge(born('', 'shop/a'), second)).toBeLessThan(0)
  expect(byAge(second, born('', 'shop/a'))).toBeGreaterThan(0)
})
