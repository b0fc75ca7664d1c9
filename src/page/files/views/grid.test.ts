import { describe, expect, test } from 'vitest'
import { elementCount, moveRow, scrollTo, visibleWindow } from './grid.ts'

describe('the window', () => {
  const viewport = { scrollTop: 0, height: 300, rowHeight: 30, count: 10_000 }

  test.each([
    [{}, { start: 0, end: 20 }],
    [{ scrollTop: 3_000 }, { start: 90, end: 120 }],
    [{ scrollTop: 3_015 }, { start: 90, end: 120 }],
    [{ scrollTop: 300_000 }, { start: 9_990, end: 10_000 }],
    [
      { scrollTop: 300_000, count: 5 },
      { start: 4, end: 5 },
    ],
    [{ scrollTop: -50 }, { start: 0, end: 20 }],
    [{ count: 0 }, { start: 0, end: 0 }],
    [{ height: 0 }, { start: 0, end: 10 }],
  ])('%j shows rows %j', (change, expected) => {
    expect(visibleWindow({ ...viewport, ...change })).toEqual(expected)
  })

  test('every row that can be seen is in it, at any position', () => {
    for (let scrollTop = 0; scrollTop < 299_700; scrollTop += 997) {
      const { start, end } = visibleWindow({ ...viewport, scrollTop })
      expect(start * 30).toBeLessThanOrEqual(scrollTop)
      expect(end * 30).toBeGreaterThanOrEqual(scrollTop + 300)
      expect(end - start).toBeLessThanOrEqual(elementCount({ ...viewport, scrollTop }))
    }
  })

  test('scrolls no further than a row needs', () => {
    expect(scrollTo(3, { ...viewport, scrollTop: 60 })).toBe(60)
    expect(scrollTo(1, { ...viewport, scrollTop: 60 })).toBe(30)
    expect(scrollTo(12, { ...viewport, scrollTop: 60 })).toBe(90)
  })
})

test.each([
  ['ArrowDown', 3, 4],
  ['ArrowUp', 0, 0],
  ['PageDown', 3, 12],
  ['PageUp', 20, 11],
  ['Home', 50, 0],
  ['End', 0, 99],
  ['ArrowDown', 99, 99],
  ['ArrowDown', -1, 0],
  ['a', 3, undefined],
])('%s from row %i leads to %s', (key, row, expected) => {
  expect(moveRow(key, row, { count: 100, page: 9 })).toBe(expected)
})
