import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BoundedMap } from './answer-cache.ts'

test('the least recently used entries are evicted first', () => {
  let evicted = 0
  const map = new BoundedMap<number>({ maxEntries: 3, maxBytes: 100 }, () => evicted++)
  for (const [index, key] of ['a', 'b', 'c'].entries()) map.set(key, index, 10)
  expect(map.get('a')).toBe(0)
  map.set('d', 3, 10)
  expect([map.get('b'), map.get('a'), evicted]).toEqual([undefined, 0, 1])
  map.set('e', 4, 85)
  expect([map.get('e'), map.get('a'), map.size, map.bytes, evicted]).toEqual([4, 0, 2, 95, 3])
})

test('it never holds more than allowed, and knows what it holds', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
  const step = fc.tuple(key, fc.option(fc.nat(60)))
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const map = new BoundedMap<number>({ maxEntries: 4, maxBytes: 100 }, () => undefined)
      const sizes = new Map<string, number>()
      for (const [key, bytes] of steps) {
        if (bytes === null) map.delete(key)
        else map.set(key, bytes, bytes)
        for (const each of ['a', 'b', 'c', 'd', 'e', 'f']) {
          const held = map.get(each)
          if (held === undefined) sizes.delete(each)
          else sizes.set(each, held)
        }
        expect(map.size).toBe(sizes.size)
        expect(map.bytes).toBe([...sizes.values()].reduce((sum, each) => sum + each, 0))
        expect(map.size <= 4 && map.bytes <= 100).toBe(true)
      }
    }),
  )
})
