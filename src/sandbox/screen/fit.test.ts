import { expect, test } from 'vitest'
import { fit, type Section } from './screen.ts'
import type { Line } from './view.ts'

const lines = (...texts: readonly string[]): readonly Line[] => texts.map((text) => [{ text }])
const texts = (shown: readonly Line[]): string => shown.map(([span]) => span?.text ?? '_').join('')

const sections: readonly Section[] = [
  { lines: lines('a', 'b') },
  { lines: lines('c'), grow: (more) => lines('c', ...Array<string>(more).fill('+')) },
  { lines: lines('o'), optional: true },
  { lines: lines('d', 'e') },
]

test.each([
  [11, 'ab_c++_o_de'],
  [9, 'ab_c_o_de'],
  [8, 'ab_c+_de'],
  [7, 'ab_c_de'],
  [6, 'abcde'],
  [5, 'abcde'],
  [3, 'abc'],
  [0, ''],
])('in %i rows', (rows, expected) => {
  expect(texts(fit(sections, rows))).toBe(expected)
})
