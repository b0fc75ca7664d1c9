import { expect, test } from 'vitest'
import { formatPortRange, parsePortRange } from './port-range.ts'

test.each([
  ['30000-32767', '30000-32767'],
  ['30000+10', '30000-30010'],
  ['8080', '8080-8080'],
  ['1-65535', '1-65535'],
])('%s is %s', (text, range) => {
  expect(formatPortRange(parsePortRange(text)!)).toBe(range)
})

test.each(['', '5-4', '0-5', '0', '65535+1', '1-70000', 'a-b', '1-', '-1', '1-2-3', ' 1', '1\n'])(
  '%j is no range',
  (text) => {
    expect(parsePortRange(text)).toBeUndefined()
  },
)
