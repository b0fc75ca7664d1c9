import { expect, test } from 'vitest'
import {
  conditionMatches,
  readCondition,
  setCondition,
  type WantedCondition,
} from './status-condition.ts'

const [THEN, LATER] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:07Z']
const now = Date.parse(LATER)
const WORDS = { reason: 'Up', message: 'All is well.' }
const ready = { type: 'Ready', status: 'True', ...WORDS, lastTransitionTime: THEN }
const status = { conditions: ['x', { type: 'Other', status: 'False' }, ready] }

test('a condition is found by its type', () => {
  expect(readCondition(status, 'Ready')).toEqual(ready)
})

test.each([undefined, {}, { conditions: 'x' }, { conditions: [7, null] }])(
  'nothing is said by %j',
  (nothing) => {
    const silence = { status: '', reason: '', message: '', lastTransitionTime: '' }
    expect(readCondition(nothing, 'Ready')).toEqual({ type: 'Ready', ...silence })
  },
)

test.each([
  ['other words', { status: 'True', reason: 'Better' }, THEN],
  ['another status', { status: 'False' }, LATER],
] as const)('%s: the time is that of the last change of status', (_, said, time) => {
  const wanted: WantedCondition = { type: 'Ready', ...said }
  const written = setCondition(readCondition(status, 'Ready'), wanted, now)
  expect(written).toEqual({ ...wanted, lastTransitionTime: time })
})

test.each(['Other', 'Absent'])('%s has no time yet and gets one', (type) => {
  const written = setCondition(readCondition(status, type), { type, status: 'False' }, now)
  expect(written).toEqual({ type, status: 'False', lastTransitionTime: LATER })
})

test.each([
  [{}, true],
  [WORDS, true],
  [{ ...WORDS, message: 'x' }, false],
  [{ reason: null }, false],
  [{ status: 'False' }, false],
] as const)('a condition with %j matches the known one: %s', (said, expected) => {
  const wanted: WantedCondition = { type: 'Ready', status: 'True', ...said }
  expect(conditionMatches(readCondition(status, 'Ready'), wanted)).toBe(expected)
})
