import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonObject, mergePatch } from '../lib/json.ts'
import { isContradiction, mergeDifference } from './edit-command.ts'

const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer()))
const object = fc.letrec<{ tree: JsonObject }>((tie) => ({
  tree: fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.oneof({ depthSize: 'small' }, leaf, tie('tree')),
  ),
})).tree

test('the difference turns one object into the other', () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      expect(mergePatch(before, mergeDifference(before, after))).toEqual(after)
    }),
  )
})

test('equal objects have no difference', () => {
  fc.assert(
    fc.property(object, (one) => {
      expect(mergeDifference(one, one)).toEqual({})
    }),
  )
})

test.each([
  [{ a: 1 }, { b: 1 }, false],
  [{ a: 1 }, { a: 1 }, false],
  [{ a: 1 }, { a: 2 }, true],
  [{ a: { b: 1 } }, { a: { c: 1 } }, false],
  [{ a: { b: 1 } }, { a: null }, true],
])('%j and %j contradict each other: %s', (one, other, expected) => {
  expect(isContradiction(one, other)).toBe(expected)
})
