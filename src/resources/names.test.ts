import { expect, test } from 'vitest'
import { isLabel, isLabelValue, isPortName, isQualifiedName, isSubdomain } from './names.ts'

const LONG = 'a'.repeat(63)
const TESTS = { isLabel, isLabelValue, isPortName, isQualifiedName, isSubdomain }

test.each<[keyof typeof TESTS, string, boolean]>([
  ['isLabel', 'a', true],
  ['isLabel', '0-a', true],
  ['isLabel', LONG, true],
  ['isLabel', `${LONG}a`, false],
  ['isLabel', '', false],
  ['isLabel', '-a', false],
  ['isLabel', 'a-', false],
  ['isLabel', 'A', false],
  ['isLabel', 'a.b', false],
  ['isLabel', 'a_b', false],
  ['isLabel', 'a\n', false],
  ['isLabel', 'a/b', false],
  ['isLabel', 'ａ', false],
  ['isLabel', '__proto__', false],
  ['isLabel', 'constructor', true],
  ['isSubdomain', 'a.b-c.d', true],
  ['isSubdomain', 'a..b', false],
  ['isSubdomain', '.a', false],
  ['isSubdomain', 'a.', false],
  ['isSubdomain', '', false],
  ['isSubdomain', `${LONG}.${LONG}.${LONG}.${'a'.repeat(61)}`, true],
  ['isSubdomain', `${LONG}.${LONG}.${LONG}.${'a'.repeat(62)}`, false],
  ['isLabelValue', '', true],
  ['isLabelValue', 'A_b.c-9', true],
  ['isLabelValue', '_a', false],
  ['isLabelValue', `${LONG}a`, false],
  ['isQualifiedName', 'app', true],
  ['isQualifiedName', 'x.io/App_1', true],
  ['isQualifiedName', '/app', false],
  ['isQualifiedName', 'x.io/', false],
  ['isQualifiedName', 'X.io/a', false],
  ['isQualifiedName', 'a/b/c', false],
  ['isPortName', 'http', true],
  ['isPortName', 'a'.repeat(15), true],
  ['isPortName', 'a'.repeat(16), false],
  ['isPortName', '8080', false],
  ['isPortName', 'a--b', false],
  ['isPortName', '-a', false],
])('%s(%j) is %s', (name, text, expected) => {
  expect(TESTS[name](text)).toBe(expected)
})
