import { expect, test } from 'vitest'
import { isUnchanged, mapPatch, overwritten, splitChanges } from './map-command.ts'

const OBJECT = { metadata: { labels: { a: '1', b: '2' } } }

function changes(...args: readonly string[]) {
  return splitChanges(['svc', 'web', ...args]).changes
}

test('divides operands into objects and changes', () => {
  const { names, changes: found } = splitChanges(['svc', 'web', 'a=b=c', 'd-'])
  expect(names).toEqual(['svc', 'web'])
  expect([...found.set]).toEqual([['a', 'b=c']])
  expect([...found.removed]).toEqual(['d'])
})

test.each([['=x'], ['a=b', 'web'], ['a=b', 'a-']])('%j is refused', (...args) => {
  expect(() => changes(...args)).toThrow(/is no change|is set and removed/)
})

test('finds a key with another value', () => {
  expect(overwritten(OBJECT, 'labels', changes('a=1', 'c=3'))).toBeUndefined()
  expect(overwritten(OBJECT, 'labels', changes('a=2'))).toBe('a')
  expect(overwritten({}, 'labels', changes('constructor=2'))).toBeUndefined()
})

test('knows when nothing is to be done', () => {
  expect(isUnchanged(OBJECT, 'labels', changes('a=1', 'c-'))).toBe(true)
  expect(isUnchanged(OBJECT, 'labels', changes('a-'))).toBe(false)
  expect(isUnchanged(OBJECT, 'labels', changes('c=1'))).toBe(false)
})

test('writes a merge patch, guarded by a version', () => {
  const metadata = { labels: { a: null, c: '3' }, resourceVersion: '7' }
  expect(mapPatch('labels', changes('c=3', 'a-'), '7')).toEqual({ metadata })
})
