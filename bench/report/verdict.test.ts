import { expect, test } from 'vitest'
import { judgeAll, targetsTable } from './verdict.ts'

const ms = (limit: number) => (measured: number) => ({ measured, limit, unit: 'ms' }) as const

test('a target that was missed anywhere has its bound below the table, once', () => {
  const targets = [
    { name: 'quick', judge: ms(5), bound: 'the kernel copies.' },
    { name: 'quicker', judge: ms(100), bound: 'not printed, because it is met.' },
    { name: 'quickest', judge: ms(1) },
  ]
  const text = targetsTable(judgeAll(targets, [4, 6, 7], String))
  expect(text).toContain('4 of 9 met.')
  expect(text.split('\n').filter((line) => line.startsWith('- '))).toEqual([
    '- *quick*: the kernel copies.',
  ])
  expect(targetsTable(judgeAll(targets, [1], String))).not.toContain('bounds')
})
