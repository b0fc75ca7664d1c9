import { expect, test } from 'vitest'
import { harmless } from './logs-command.ts'

test.each([
  ['plain\n', 'plain\n'],
  ['\u001b[1;31mred\u001b[0m\n', '\u001b[1;31mred\u001b[0m\n'],
  ['\u001b[2J', '\\u001b[2J'],
  ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
  ['a\tb\t[3m', 'a\tb\t[3m'],
  ['\u0008[3m', '\\u0008[3m'],
  ['x\u202ey', 'x\\u202ey'],
  ['\r\n', '\\r\n'],
])('%j is shown as %j', (line, shown) => {
  expect(harmless(line)).toBe(shown)
})
