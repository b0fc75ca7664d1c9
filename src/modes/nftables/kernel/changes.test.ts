import { expect, test } from 'vitest'
import type { Element } from '../../../kernel/nftables/objects.ts'
import { tableOf } from '../keys/names.ts'
import { changesOf, elementCommands } from './steps.ts'

const placed = (last: number, more: Partial<Element> = {}, set = 's') => ({
  set,
  element: { key: Buffer.from([10, 0, 0, last]), ...more },
})
const data = (last: number) => ({ data: Buffer.from([10, 0, 0, last]) })
const drop = { data: { kind: 'drop' } } as const
const goto = (chain: string) => ({ data: { kind: 'goto', chain } }) as const

function commandsOf(...args: Parameters<typeof changesOf>) {
  return elementCommands(tableOf(4), changesOf(...args)).map((command) =>
    'elements' in command
      ? `${command.do} ${command.set} ${command.elements.map(({ key }) => key.at(-1)).join(' ')}`
      : command.do,
  )
}

test('what is missing is added, what is too much deleted, what is equal left', () => {
  const before = [placed(1, data(1)), placed(2, data(2)), placed(3, {}, 't')]
  const after = [placed(2, data(2)), placed(4, data(4)), placed(5, {}, 't')]
  expect(commandsOf(before, after)).toEqual([
    'deleteElements s 1',
    'deleteElements t 3',
    'addElements s 4',
    'addElements t 5',
  ])
  expect(commandsOf([], after)).toEqual(['addElements s 2 4', 'addElements t 5'])
  expect(commandsOf(after, [])).toEqual(['deleteElements s 2 4', 'deleteElements t 5'])
})

test.each<[string, Partial<Element>, Partial<Element>]>([
  ['other data', data(1), data(2)],
  ['a verdict', drop, goto('a')],
  ['another chain', goto('a'), goto('b')],
  ['data instead of none', {}, data(1)],
  ['a comment', { comment: 'a' }, { comment: 'b' }],
  ['a timeout', {}, { timeout: 5 }],
])('an element with %s is replaced', (_what, before, after) => {
  const replaced = ['deleteElements s 1', 'addElements s 1']
  expect(commandsOf([placed(1, before)], [placed(1, after)])).toEqual(replaced)
  expect(commandsOf([placed(1, after)], [placed(1, after)])).toEqual([])
})

test('what only reading shows is no difference', () => {
  const read = { expires: 5, counter: { packets: 1n, bytes: 2n }, timeout: 0 }
  expect(commandsOf([placed(1, read)], [placed(1)])).toEqual([])
})

test('ranges of one beginning differ by their end', () => {
  const upTo = (last: number) => placed(1, { keyEnd: Buffer.from([10, 0, 0, last]) })
  expect(commandsOf([upTo(3)], [upTo(4)])).toEqual(['deleteElements s 1', 'addElements s 1'])
})
