import { expect, test } from 'vitest'
import { cell, paint } from './style.ts'

test('paints, and cuts by what is seen', () => {
  const line = [{ text: 'ab', look: 'bold' as const }, { text: 'cdef' }]
  expect(paint(line, 10)).toBe('\u001b[1mab\u001b[0mcdef')
  expect(paint(line, 4)).toBe('\u001b[1mab\u001b[0mc…')
  expect(paint(line, 1)).toBe('\u001b[1ma\u001b[0m')
})

test('nothing in a text reaches the terminal as a command', () => {
  expect(paint([{ text: 'a\u001b[2J\nb\u009b' }], 20)).toBe('a?[2J?b?')
})

test('cells have one width', () => {
  expect(cell('ab', 4)).toBe('ab   ')
  expect(cell('abcdef', 4)).toBe('abc… ')
})
