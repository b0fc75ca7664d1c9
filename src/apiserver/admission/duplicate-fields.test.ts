import fc from 'fast-check'
import { expect, test } from 'vitest'
import { duplicateFields } from './check-fields.ts'

test.each([
  ['{"a":1,"b":{"a":1}}', []],
  ['{"a":1,"a":2}', ['a']],
  ['{"a":1,"\\u0061":2}', ['a']],
  ['{"spec":{"ports":[{"port":1},{"port":2,"port":3}]}}', ['spec.ports[1].port']],
  ['{"a":[[1],[{"b":1,"b":2}]],"a":{}}', ['a[1][0].b', 'a']],
  ['{"a":"b\\",\\"a\\":1","c":["a","a"],"d":"a"}', []],
  ['{"a":{"x":[1,2]},"b":{"x":[3]},"b" : 1}', ['b']],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['"text"', []],
])('in %s: %j', (text, paths) => {
  expect(duplicateFields(text)).toEqual(paths)
})

test('what a serialiser wrote has none', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
      expect(duplicateFields(text)).toEqual([])
    }),
  )
})
