import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SortedKeys } from './sorted-keys.ts'

const key = fc.string({ unit: fc.constantFrom('a', 'b', '/', 'z'), maxLength: 4 })

test('holds the same keys as a sorted set after any adds and deletes', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), key)), (steps) => {
      const keys = new SortedKeys()
      const model = new Set<string>()
      for (const [add, name] of steps) {
        if (add) keys.add(name)
        else keys.delete(name)
        if (add) model.add(name)
        else model.delete(name)
      }
      expect([...keys.under('')]).toEqual([...model].sort())
      expect(keys.size).toBe(model.size)
    }),
  )
})

test('lists what lies under a prefix and after a key', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(key),
      key,
      fc.option(key, { nil: undefined }),
      (names, prefix, after) => {
        const keys = new SortedKeys()
        for (const name of names) keys.add(name)
        const under = names.filter((name) => name.startsWith(prefix))
        const expected = under.filter((name) => after === undefined || name > after)
        expect([...keys.under(prefix, after)]).toEqual(expected.sort())
      },
    ),
  )
})
