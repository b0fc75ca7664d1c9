import { expect, test } from 'vitest'
import { balancingOf } from './render.ts'

test.each([
  [undefined, 'lc', true],
  ['rr', 'rr', true],
  ['wrr', 'rr', true],
  ['lc', 'lc', true],
  ['wlc', 'lc', true],
  ['sh', 'lc', false],
  ['sed', 'lc', false],
  ['constructor', 'lc', false],
] as const)('scheduler %s is %s, known: %s', (scheduler, balancing, isKnown) => {
  expect(balancingOf(scheduler, 'lc')).toEqual({ balancing, isKnown })
})

test('without a scheduler, or with an unknown one, the configured one counts', () => {
  expect(balancingOf(undefined, 'rr').balancing).toBe('rr')
  expect(balancingOf('mh', 'rr').balancing).toBe('rr')
})
