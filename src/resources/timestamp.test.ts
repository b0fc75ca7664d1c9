import { expect, test } from 'vitest'
import { parseTimestamp } from './timestamp.ts'

test.each([
  ['2024-02-29T12:30:45Z', Date.UTC(2024, 1, 29, 12, 30, 45)],
  ['2024-02-29t12:30:45.000500z', Date.UTC(2024, 1, 29, 12, 30, 45)],
  ['2024-12-31T23:59:59+02:00', Date.UTC(2024, 11, 31, 21, 59, 59)],
])('%s is a time', (text, time) => {
  expect(parseTimestamp(text)).toBe(time)
})

test.each([
  '2024-02-29',
  '2024-02-29T12:30:45',
  '2024-02-30T12:30:45Z',
  '2023-02-29T12:30:45Z',
  '2024-04-31T12:30:45+02:00',
  '2024-01-01T24:00:00Z',
  '2024-01-01T00:00:00+24:00',
])('%s is none, as for the clients of Kubernetes', (text) => {
  expect(parseTimestamp(text)).toBeUndefined()
})
