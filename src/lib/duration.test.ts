import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration, timestamp } from './duration.ts'

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['30s', 30_000],
    ['250ms', 250],
    ['1h2m', 3_720_000],
    ['1.5h', 5_400_000],
    ['1m0.5s', 60_500],
    ['250us', 0.25],
    ['250µs', 0.25],
    ['24h0m0s', 86_400_000],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each([
    '',
    '30',
    '-1s',
    '+1s',
    '1 s',
    '1d',
    's',
    '1h2',
    '1.s',
    '.5s',
    '1e3s',
    `${'9'.repeat(60)}h`,
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0s'],
    [30_000, '30s'],
    [3_720_000, '1h2m'],
    [250, '250ms'],
    [0.25, '250us'],
    [86_400_000, '24h'],
  ])('writes %d ms', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  it('is read back as the same time', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000_000 }), (microseconds) => {
        const ms = microseconds / 1_000
        expect(parseDuration(formatDuration(ms))).toBeCloseTo(ms, 3)
      }),
    )
  })
})

it('writes times in whole seconds, in UTC', () => {
  expect(timestamp(Date.UTC(2026, 1, 3, 4, 5, 6, 999))).toBe('2026-02-03T04:05:06Z')
})
