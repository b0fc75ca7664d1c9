import { expect, test } from 'vitest'
import { RetentionRule } from './embedded-store.ts'

test('history is shortened only when it is longer by a sixteenth', () => {
  const rule = new RetentionRule({ revisions: 160, bytes: 1000 }, () => undefined)
  expect(rule.due({ oldest: 0, newest: 170 })).toBeUndefined()
  expect(rule.due({ oldest: 0, newest: 171 })).toBe(11)
})

test('bytes are measured only when enough was written, and the newest revision stays', () => {
  const measuredFrom: number[] = []
  const rule = new RetentionRule({ revisions: 100, bytes: 160 }, (oldest) => {
    measuredFrom.push(oldest)
    return 9
  })
  const bounds = { oldest: 3, newest: 9 }
  rule.wrote(10)
  expect(rule.due(bounds)).toBeUndefined()
  rule.wrote(1)
  expect(rule.due(bounds)).toBe(8)
  expect(rule.due(bounds)).toBeUndefined()
  expect(measuredFrom).toEqual([3])
})
