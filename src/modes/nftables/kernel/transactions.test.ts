import { expect, test } from 'vitest'
import type { ObjectKey } from '../../mode.ts'
import { tableOf } from '../keys/names.ts'
import { transactionsOf } from './family-writer.ts'
import type { Step } from './steps.ts'

const table = tableOf(4)

function step(key: string, weight: number, group?: string): Step {
  const elements = Array.from({ length: weight }, () => ({ key: Buffer.alloc(4) }))
  return {
    key: key as ObjectKey,
    commands: [{ do: 'addElements', table, set: 's', elements }],
    ...(group === undefined ? {} : { group }),
  }
}

function cut(...steps: readonly Step[]): readonly string[] {
  return [...transactionsOf(steps)].map((some) => some.map(({ key }) => key).join(' '))
}

test('steps are one transaction up to 4,000 elements and commands', () => {
  expect(cut(step('a', 2_000), step('b', 2_000), step('c', 1))).toEqual(['a b', 'c'])
  const chain: Step = {
    key: 'd' as ObjectKey,
    commands: [
      { do: 'addChain', table, chain: 'd' },
      { do: 'flushChain', table, chain: 'd' },
    ],
  }
  expect(cut(step('a', 3_998), chain, step('b', 1))).toEqual(['a d', 'b'])
  expect(cut(step('a', 3_999), chain)).toEqual(['a', 'd'])
})

test('a step that is too large alone is a transaction of its own', () => {
  expect(cut(step('a', 1), step('b', 9_000), step('c', 1))).toEqual(['a', 'b', 'c'])
})

test('a group is never cut', () => {
  expect(
    cut(step('a', 1), step('b', 3_000, 'x'), step('c', 3_000, 'x'), step('d', 1, 'y')),
  ).toEqual(['a b c', 'd'])
  expect(cut(step('a', 3_000, 'x'), step('b', 3_000, 'y'))).toEqual(['a', 'b'])
})

test('nothing is no transaction', () => {
  expect(cut()).toEqual([])
})
