import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLineSplitter } from './line-splitter.ts'

test('the complete lines are returned, however the bytes are divided into chunks', () => {
  const line = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.trim() === text)
  fc.assert(
    fc.property(fc.array(line), line, fc.array(fc.nat()), (lines, tail, cuts) => {
      const wanted = lines.filter((text) => !text.includes('\n'))
      const bytes = Buffer.from(wanted.map((text) => `${text}\n`).join('') + tail)
      const splitter = createLineSplitter(10_000)
      const found: unknown[] = []
      let start = 0
      for (const cut of [...cuts, bytes.length]
        .map((at) => Math.min(at, bytes.length))
        .toSorted((a, b) => a - b)) {
        found.push(...splitter.push(bytes.subarray(start, cut)))
        start = cut
      }
      expect(found).toEqual(wanted)
    }),
  )
})

test('a line over the limit is dropped, and the lines around it are returned', () => {
  const splitter = createLineSplitter(5)
  expect(splitter.push(Buffer.from('a\n1234'))).toEqual(['a'])
  expect(splitter.push(Buffer.from('5678'))).toEqual([])
  expect(splitter.push(Buffer.from('9\n\n12345\n'))).toEqual([undefined, '12345'])
})
